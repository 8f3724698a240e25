"""Gradients and automatic differentiation"""
