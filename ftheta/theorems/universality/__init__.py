"""Universality and approximation rates"""
