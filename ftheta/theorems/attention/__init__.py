"""Attention and interacting particles"""
