"""Stability and robustness"""
