"""Golden cases: questions with known answers, answered through the public interface of perfmodel.

``cases_*.json`` hold what is right (values, units, tolerances, sources), ``answers_*.py`` our code that
answers, ``unanswered.json`` the cases that wait for a later part of the library, with the reason.
``python tests/golden/run.py --golden DIR`` answers the cases of another directory of the same form.
"""
