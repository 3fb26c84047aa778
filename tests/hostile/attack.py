"""What attacks have in common: honest workers beside the liar, and what must be known of it."""

import re

import peer
from site_of import until

WIDTH = 100


class Scene:
    """A server with honest workers, who have begun, and room for one that is not."""

    def __init__(self, site, *options, honest=1, **named):
        self.site = site
        self.server = site.server("--workers", str(honest), "--lanes", "1", *options, **named)
        self.first = self.server.first
        self.honest = site.crew(self.first, honest, width=WIDTH)
        self.train()

    def train(self, rounds=3):
        """Honest work goes on, and its rounds are closed."""
        for line in (f"rounds {rounds} model 1", "read model"):
            for w in self.honest:
                w.begin(line)
            values = [w.end() for w in self.honest]
        return values

    def liar(self, name="liar", join=True, **options):
        worker = peer.Worker(self.first, name, **options)
        worker.table(rows=4, width=WIDTH)
        if join:
            worker.join()
        return worker

    def status(self):
        with peer.Peer(self.first, "operator", name="ada") as ada:
            return ada.ok("status")

    def counted(self, key, reason):
        return self.status().get(key, {}).get(reason, 0)

    def blames(self, name, text):
        """Log and `strait why` name it, and nobody else."""
        self.server.says(rf"\b{name}\b.* broke the rules: .*{text}")
        others = re.findall(r"(\S+)(?: from \S+)? broke the rules", self.server.said())
        assert all(other.endswith("/" + name) for other in others), others
        reason = until(lambda: self.site.reasons(self.first).get("broke_rules"))
        assert reason["name"] == name and re.search(text, reason["text"]), reason
