# Uses the server from Python, with the standard library only. Set SLUICE_URL to use a server other than http://localhost:8080.
#
#   sluice serve --config examples/clients/limits.yaml
#   python3 examples/clients/client.py

import json
import os
from urllib.request import Request, urlopen

SERVER = os.environ.get("SLUICE_URL", "http://localhost:8080")


def call(verb, **operation):
    """Returns the decision and, if it is a denial, the seconds after which a retry can succeed."""
    body = json.dumps(operation).encode()
    request = Request(f"{SERVER}/v1/{verb}", body, {"Content-Type": "application/json"})
    with urlopen(request, timeout=2) as response:
        return json.load(response), response.headers.get("Retry-After")


# A denial has status 200, like every other decision, so `urlopen` does not raise an error.
for _ in range(3):
    decision, retry_after = call("take", limit="api", key="alice")
    if decision["allowed"]:
        print(f"allowed, {decision['remaining']} left")
    else:
        print(f"denied, retry in {retry_after} s")
# → allowed, 1 left
# → allowed, 0 left
# → denied, retry in 30 s

# Charge an estimate before the work, and correct it once the actual usage is known.
charge, _ = call("take", limit="tokens", key="alice", cost=500)
print(f"charged {charge['taken']}, {charge['remaining']} left")
# → charged 500, 500 left
settled, _ = call("settle", limit="tokens", key="alice", charged=500, used=120, at=charge["at"])
print(f"settled, {settled['remaining']} left")
# → settled, 880 left
