"""Which slots may a query look at? One file a scope."""

from regard.attention.scope.causal import Causal as Causal
from regard.attention.scope.core import Scope as Scope
from regard.attention.scope.core import Window as Window
from regard.attention.scope.everywhere import Everywhere as Everywhere
from regard.attention.scope.local_m import LocalM as LocalM
from regard.attention.scope.local_p import LocalP as LocalP
