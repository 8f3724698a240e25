"""Generalisation"""
