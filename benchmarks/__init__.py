"""Speed and memory: one file per question, ratios against the obvious alternative in the same run."""
