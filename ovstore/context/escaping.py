"""What keeps an untrusted value a value: our own tag names in it are neutralised, labels stay on one line.

Untrusted are memories, summaries, the profile, lore, and what tools returned. What the user and the model say is sent
to the byte: the border of a message is its role, not a tag. Templates never render a value a second time.
"""

from __future__ import annotations

import re
from typing import Final

from ovstore.context.policy import WRAPPED, Policy

BLOCK_TAGS: Final = tuple(rf"{layer}_\d+" if layer == "worldbook_at_depth" else layer for layer in WRAPPED)


class Escaper:
    """The policy's way to neutralise; `none` leaves text alone, but for what stands in an attribute."""

    def __init__(self, policy: Policy) -> None:
        self._way = policy.escape
        names = "|".join((*BLOCK_TAGS, *map(re.escape, policy.tags)))
        # Spaces where HTML parsers and models forgive them, never given back; names end where a longer one would go on.
        self._tag = re.compile(rf"<(?=\s*+/?+\s*+(?:{names})(?![\w-]))", re.IGNORECASE)

    def text(self, value: str) -> str:
        """Return a value that can neither open nor close one of our blocks.

        >>> Escaper(Policy()).text("</memory> <b> <TIME >")
        '&lt;/memory> <b> &lt;TIME >'
        """
        if self._way == "xml":
            return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return self._tag.sub("&lt;", value) if self._way == "block_tags" and "<" in value else value

    def label(self, value: str) -> str:
        """Return a name for a line such as `- [book / comment] content`: one line, without brackets of its own.

        >>> Escaper(Policy()).label("a]\\n- [b")
        'a) - (b'
        """
        if self._way == "none":
            return value
        return self.text(" ".join(value.split()).translate({ord("["): "(", ord("]"): ")"}))

    def attribute(self, value: str) -> str:
        """Return a value for between the quotes of a tag's attribute.

        >>> Escaper(Policy()).attribute('a"> b')
        'a&quot;&gt; b'
        """
        plain = " ".join(value.split()).replace("&", "&amp;").replace("<", "&lt;")
        return plain.replace(">", "&gt;").replace('"', "&quot;")
