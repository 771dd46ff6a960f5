#!/bin/sh
# Takes this machine over from another platform: installs the agent of Gangway, has the other platform removed where
# one says how, and reports each step to the panel. The bootstrap token of a server that was added for a takeover
# comes by standard input. It may be run again with the same token: it goes on where it stood.
#
#   printf %s '<token>' | sh takeover.sh --control https://panel.example.com \
#     [--remove-with '<command>'] [--data-dir <folder>] [--no-service]
#
# Without --remove-with the other platform is left as it is, and the takeover is done once the agent is installed.
set -eu

say() {
  echo "takeover: $*" >&2
}

control=
remove_with=
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
    --remove-with) remove_with=${2:?} ;;
    --data-dir) data_dir=${2:?} ;;
    *)
      say "there is no option $1"
      exit 2
      ;;
  esac
  shift 2
done
control=${control%/}
if [ -z "$control" ]; then
  say '--control has to be the address of the panel'
  exit 2
fi
if [ -z "$data_dir" ]; then
  # As the installer has it.
  if [ "$(id -u)" = 0 ]; then data_dir=/var/lib/gangway-agent; else data_dir=$HOME/.local/share/gangway-agent; fi
fi
# There once the other platform is removed, which may not be known to the panel yet.
removed=$data_dir/takeover-removed
token=
IFS= read -r token || true
case $token in
  gwb_*.*) ;;
  *)
    say 'standard input holds no bootstrap token'
    exit 2
    ;;
esac

# What is asked of the panel, with the token in what curl reads: its arguments would be seen by others. Prints the
# answer, and fails unless it is 200.
ask() {
  asked=$(
    printf 'header = "Authorization: Bearer %s"\n' "$token" |
      curl -sS --retry 5 --retry-connrefused --config - -w '%{http_code}' "$@" "$control/api/takeover"
  ) || return 1
  printf '%s\n' "${asked%???}"
  [ "${asked#"${asked%???}"}" = 200 ]
}

state_in() {
  sed -n 's/.*"state":"\([a-z]*\)".*/\1/p'
}

# Reports a state, with a reason of letters, digits and spaces.
report() {
  ask -H 'Content-Type: application/json' -d "{\"state\":\"$1\",\"reason\":\"$2\"}" > /dev/null || {
    say "the panel did not take the report: $1"
    exit 1
  }
  say "$1: $2"
}

# A final state is read once more: then the token is good for nothing any more.
finish() {
  ask > /dev/null || say 'the panel was not asked once more; the token ends after 24 hours'
  exit "$1"
}

finish_removed() {
  report removed 'The other platform is removed'
  finish 0
}

answer=$(ask) || {
  say "the panel refuses: $answer"
  exit 1
}
state=$(printf %s "$answer" | state_in)
case $state in
  waiting)
    # Fetched as a whole before any of it runs.
    installer=$(curl -fsSL --retry 3 "$control/api/agent/install.sh") || {
      say "the installer of the agent could not be fetched from $control"
      exit 1
    }
    # Of an earlier takeover.
    rm -f "$removed"
    set -- --control "$control" --data-dir "$data_dir"
    if [ $service = no ]; then set -- "$@" --no-service; fi
    if ! printf %s "$token" | sh -c "$installer" install.sh "$@"; then
      report failed 'The agent could not be installed'
      finish 1
    fi
    if [ -z "$remove_with" ]; then
      report done 'The agent is installed and nothing was removed'
      finish 0
    fi
    report removing 'The agent is installed'
    ;;
  removing)
    if [ -e "$removed" ]; then finish_removed; fi
    if [ -z "$remove_with" ]; then
      say 'the other platform was being removed: --remove-with has to say how'
      exit 2
    fi
    say 'going on with the removal'
    ;;
  *)
    say "it is over already: $state"
    finish 0
    ;;
esac

status=0
sh -c "$remove_with" < /dev/null || status=$?
if [ "$status" = 0 ]; then
  # Where it cannot be kept, a run that is interrupted now tries once more.
  touch "$removed" || true
  finish_removed
fi
report failed "The removal ended with status $status"
finish 1
