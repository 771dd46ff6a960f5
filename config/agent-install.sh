#!/bin/sh
# Installs the agent of Gangway on this machine, and starts it: as a service of systemd where that runs, else in the
# background. It needs Node.js 22 and curl. The bootstrap token comes by standard input, so that no list of processes
# shows it; without one, an agent that has been here before is brought up to date.
#
#   printf %s '<token>' | sh agent-install.sh --control https://panel.example.com [--data-dir <folder>] [--no-service]
set -eu

fail() {
  echo "gangway-agent: $*" >&2
  exit 1
}

control=
data_dir=
service=yes
while [ $# -gt 0 ]; do
  case $1 in
    --no-service)
      service=no
      shift
      continue
      ;;
    --control) control=${2:?} ;;
    --data-dir) data_dir=${2:?} ;;
    *) fail "there is no option $1" ;;
  esac
  shift 2
done
case $control in
  http://* | https://*) control=${control%/} ;;
  *) fail '--control has to be the address of the panel, such as https://panel.example.com' ;;
esac
if [ -z "$data_dir" ]; then
  if [ "$(id -u)" = 0 ]; then data_dir=/var/lib/gangway-agent; else data_dir=$HOME/.local/share/gangway-agent; fi
fi
case $data_dir in
  *[!A-Za-z0-9/._-]* | [!/]*) fail '--data-dir has to be an absolute path of letters, digits and /._-' ;;
esac

command -v curl > /dev/null || fail 'curl is needed, and not there'
node=$(command -v node) || fail 'Node.js 22 is needed, and not there'
major=$("$node" -p 'process.versions.node.split(".")[0]')
[ "$major" -ge 22 ] || fail "Node.js 22 is needed; $node is $major"

token=
if [ ! -t 0 ]; then IFS= read -r token || true; fi
token_file=$data_dir/bootstrap-token
umask 077
mkdir -p "$data_dir"
if [ -n "$token" ]; then
  case $token in
    gwb_*.*) ;;
    *) fail 'standard input holds no bootstrap token' ;;
  esac
  # printf is no program here: nobody sees its arguments.
  printf '%s\n' "$token" > "$token_file.new"
  mv "$token_file.new" "$token_file"
fi

program=$data_dir/agent.mjs
curl -fsSL --retry 3 -o "$program.new" "$control/api/agent/program" ||
  fail "the program could not be fetched from $control"
mv "$program.new" "$program"

if [ $service = yes ] && [ "$(id -u)" = 0 ] && [ -d /run/systemd/system ]; then
  cat > /etc/systemd/system/gangway-agent.service << UNIT
[Unit]
Description=Agent of Gangway at $control
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=$node $program --control $control --token-file $token_file --data-dir $data_dir
Restart=always
RestartSec=5
# It needs another bootstrap token, and its log says so.
RestartPreventExitStatus=3
KillMode=process

[Install]
WantedBy=multi-user.target
UNIT
  systemctl daemon-reload
  systemctl enable --quiet gangway-agent
  systemctl restart gangway-agent
  echo 'gangway-agent: it runs as a service; journalctl -u gangway-agent shows its log'
else
  log=$data_dir/agent.log
  nohup "$node" "$program" --control "$control" --token-file "$token_file" --data-dir "$data_dir" \
    >> "$log" 2>&1 < /dev/null &
  echo "gangway-agent: it runs as process $!, until the machine is restarted; its log is $log"
fi
