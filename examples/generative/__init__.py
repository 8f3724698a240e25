"""Small generative models that train in a minute."""
