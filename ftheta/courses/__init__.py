"""Lecture courses as a way through the theorems: one TOML file a course. See `docs/courses.md`."""

from .model import Course, Exercise, Page, Section
from .reading import NAMES, built_in_courses, course, read_course

__all__ = [
    "NAMES",
    "Course",
    "Exercise",
    "Page",
    "Section",
    "built_in_courses",
    "course",
    "read_course",
]
