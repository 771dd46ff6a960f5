#!/bin/sh
# Installs the agent of Gangway on this machine, and starts it: as a service of systemd where that runs, else in the
# background. It needs Node.js 22 and curl. The bootstrap token comes by standard input, so that no list of processes
# shows it; without one, an agent that has been here before is brought up to date. With one, it succeeds once the agent has
# its certificate.
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
token_hash=
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
  # As the agent keeps it with the certificate that it came by.
  token_hash=$("$node" -p 'const token = require("node:fs").readFileSync(process.argv[1], "utf8").trim();
    require("node:crypto").createHash("sha256").update(token).digest("hex")' "$token_file")
fi

program=$data_dir/agent.mjs
curl -fsSL --retry 3 -o "$program.new" "$control/api/agent/program" ||
  fail "the program could not be fetched from $control"
mv "$program.new" "$program"

# Whether the agent has its certificate by this token.
is_let_in() {
  grep -qsF "$token_hash" "$data_dir/agent/identity.json"
}

# Fails with what the log says at its end, unless the agent is let in soon. Without a token it was before.
await_certificate() {
  looks=0
  until is_let_in; do
    if [ $looks = 60 ]; then
      end_log >&2
      give_up
      fail 'the agent has no certificate after 60 seconds'
    fi
    sleep 1
    looks=$((looks + 1))
    is_running || is_let_in || {
      end_log >&2
      fail 'the agent ended without a certificate'
    }
  done
}

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
  is_running() { ! systemctl is-failed --quiet gangway-agent; }
  end_log() { journalctl -u gangway-agent -n 10 --no-pager; }
  give_up() { :; } # It goes on trying, as services do.
  await_certificate
  echo 'gangway-agent: it runs as a service; journalctl -u gangway-agent shows its log'
else
  log=$data_dir/agent.log
  nohup "$node" "$program" --control "$control" --token-file "$token_file" --data-dir "$data_dir" \
    >> "$log" 2>&1 < /dev/null &
  agent=$!
  is_running() { kill -0 "$agent" 2> /dev/null; }
  end_log() { tail -n 10 "$log"; }
  give_up() { kill "$agent" 2> /dev/null || true; } # Else another one could not begin.
  await_certificate
  echo "gangway-agent: it runs as process $agent, until the machine is restarted; its log is $log"
fi
