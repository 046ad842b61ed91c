"""Fixtures for every test."""

import os
import sys

import hypothesis
import numpy as np
import pytest

from tests.libraries import FLOAT64, LIBRARIES, Library

# Quick: few examples, the same in every run. Weekly: many random ones. No deadline: timings are no test.
hypothesis.settings.register_profile("quick", max_examples=25, derandomize=True, database=None, deadline=None)
hypothesis.settings.register_profile("weekly", max_examples=1000, print_blob=True, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

pytest.register_assert_rewrite("tests.kernels.properties")


def pytest_collection_finish() -> None:
    """Let torch compute with one thread, where a test file has imported it: small models need no more."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


@pytest.fixture(params=LIBRARIES, ids=str, scope="session")
def xp(request: pytest.FixtureRequest) -> Library:
    """Every array library in every floating-point type it has."""
    return request.param


@pytest.fixture(params=FLOAT64, ids=str, scope="session")
def xp64(request: pytest.FixtureRequest) -> Library:
    """Every array library in float64, and numpy arrays that cannot be written to."""
    return request.param


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers, the same in every run."""
    return np.random.default_rng(0)
