"""Optimisation"""
