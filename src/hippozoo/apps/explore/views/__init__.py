"""What each tab of the explorer shows, as plain data: made from settings, without a browser, and with its own code."""
