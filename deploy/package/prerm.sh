#!/bin/sh
# The service is stopped where the package goes for good (dpkg: remove, rpm: 0). What it
# held and logged stays in /var/lib/holdgate.
set -e
case "$1" in
  remove | 0) if [ -d /run/systemd/system ]; then systemctl disable --now holdgate.service; fi ;;
esac
