"""An array of numpy's and a tensor of torch's go the same way."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from regard.array import copied, highest, host, joined, like, single, zeros

TABLE = np.array([[1.0, 3.0], [2.0, -1.0]])


@pytest.mark.parametrize("given", [TABLE, torch.from_numpy(TABLE)])
def test_both_kinds_give_their_own_kind(given: np.ndarray | torch.Tensor) -> None:
    kind = type(given)
    for made in (copied(given), single(given), joined([given, given]), zeros((2, 2), given), like(TABLE, given)):
        assert type(made) is kind
    assert host(joined([given, given])).tolist() == [*TABLE.tolist(), *TABLE.tolist()]
    assert host(single(given)).dtype == np.float32
    assert host(zeros((1, 2), given)).tolist() == [[0.0, 0.0]]
    assert highest(given).tolist() == [3.0, 2.0]
    other = copied(given)
    other[0, 0] = 7
    assert host(given)[0, 0] == 1.0


def test_a_tensor_on_the_processor_is_not_copied() -> None:
    tensor = torch.zeros(3)
    host(tensor)[1] = 5
    assert tensor.tolist() == [0, 5, 0]
    assert host(torch.ones(2, requires_grad=True)).tolist() == [1, 1]


def test_names_of_shapes_cost_nothing_where_nobody_checks() -> None:
    script = "import sys; from regard.shape import Float, Int; Float[int, 'row']; Int[int, 'row']; "
    done = subprocess.run([sys.executable, "-c", script + "sys.exit('jaxtyping' in sys.modules)"], check=False)
    assert done.returncode == 0
