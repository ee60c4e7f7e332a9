"""What several tests of the store begin with."""

from __future__ import annotations

from samples import patch, prompt

from ovstore import Store


def no_longer_carried(store: Store) -> str:
    """A tenant whose patch of then does not fit the global text of now."""
    store.publish(prompt(template="{{ q }} {{ tone }}", variables=["q", "tone"]), actor="ann")
    removal = patch("semantic.note", template="mine {{ q }}", variables=[{"name": "tone", "$remove": True}])
    store.publish(removal, tenant="acme", actor="bob", accept_risk="high")
    then = store.resolve("semantic.note", tenant="acme").revision
    store.withdraw("semantic.note", tenant="acme", actor="bob", reason="r", accept_risk="high")
    store.publish(prompt(template="{{ q }}"), actor="ann", accept_risk="high")
    return then
