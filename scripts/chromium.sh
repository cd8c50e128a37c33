#!/usr/bin/env bash
# chromium.sh installs the browser that e2e/webpage drives, where Debian's or Ubuntu's apt-get can.
set -euo pipefail
if command -v chromium >/dev/null; then exit 0; fi
if ! command -v apt-get >/dev/null; then
	echo "chromium.sh: there is no chromium and no apt-get: install chromium, the page's tests cannot do without it" >&2
	exit 1
fi
as_root=()
if [ "$(id -u)" != 0 ]; then as_root=(sudo); fi
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
command -v chromium >/dev/null
