"""The catalogues of words of `ftheta/languages` kept in step with what they translate: `python -m translations`."""
