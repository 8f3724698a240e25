"""Risk and losses"""
