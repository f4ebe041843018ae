"""A live page of what watches have written, on this machine: streams, alarms, requests, metrics."""
