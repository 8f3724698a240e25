"""The lab in Debian's Chromium."""
