#!/bin/sh
# Installs what is missing: `run` is what serving needs, `all` also what tests and the bench need.
#
# Asked before every start, so it is a shell script and takes a few milliseconds. It compares the
# lock file with the one that was installed, byte by byte, and looks whether every package is still
# there. A node_modules that was copied here passes. All else is left to install.mjs.
cd "${0%/*}/.." || exit 1
kept="node_modules/.gangway/$(uname -sm)"
cmp -s package-lock.json "$kept/$1.lock" && . "./$kept/$1.files" && exit 0
exec "${npm_node_execpath:-node}" src/install.mjs "$1"
