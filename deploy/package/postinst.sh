#!/bin/sh
# The service's user, and a restart of a service that runs. It is not started by itself:
# an agent goes through Holdgate only once it is pointed there.
set -e
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers holdgate.conf
elif ! getent passwd holdgate >/dev/null; then
  useradd --system --user-group --home-dir /var/lib/holdgate --no-create-home --shell /usr/sbin/nologin holdgate
fi
# The service reads its configuration, which may hold hashes of tokens, and nobody else does.
if [ "$(stat -c %U:%G /etc/holdgate/holdgate.yaml)" = root:root ]; then
  chgrp holdgate /etc/holdgate/holdgate.yaml
  chmod 0640 /etc/holdgate/holdgate.yaml
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart holdgate.service
fi
