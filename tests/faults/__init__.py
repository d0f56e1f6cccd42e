import pytest

# So that a failure inside these shows what was compared.
pytest.register_assert_rewrite("tests.faults.workloads")
