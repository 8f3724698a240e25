"""Infinite width"""
