#!/bin/sh
# Makes every listing of the gallery anew, from real runs; with --check says which ones no longer hold.
#
#   docs/gallery/make.sh [--check] [OVERSTEP]
#
# Needs gcc and rustc. Another compiler makes other code, and so another listing: what is kept here is that of the
# versions named in README.md. The HTML pages show one run as it was, and are made but not compared.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
sources=$here/../../fixtures/gallery
check=
if [ "${1-}" = --check ]; then check=yes; shift; fi
overstep=${1-overstep}
case $overstep in */*) overstep=$(cd "$(dirname "$overstep")" && pwd)/$(basename "$overstep") ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# listing NAME FORMAT-OPTIONS…: lists $work/NAME.ostrace into NAME.md, or compares.
listing() {
    name=$1; shift
    if [ -n "$check" ]; then
        "$overstep" list "$work/$name.ostrace" --stable --check "$here/$name.md" "$@" || status=1
    else
        "$overstep" list "$work/$name.ostrace" --stable "$@" > "$here/$name.md"
    fi
}

# record NAME FUNCTION OPTIONS… -- ARGUMENTS…: runs $work/NAME and keeps the trace.
record() {
    name=$1; function=$2; shift 2
    options=
    while [ "$1" != -- ]; do options="$options $1"; shift; done
    shift
    # shellcheck disable=SC2086 # options are words of this script
    (cd "$work" && "$overstep" trace -q -f "$function" $options -o "$name.ostrace" -- "./$name" "$@") > /dev/null
}

for name in gcd length hello handler factorial; do
    (cd "$sources" && gcc -O1 -g -o "$work/$name" "$name.c")
done
(cd "$sources" && rustc -O -g -o "$work/chain" chain.rs)
cd "$sources"

record gcd gcd -- 48 18
listing gcd --format markdown --source --remap "$sources=."
record length 'libc.so.6!strlen' --memory --
listing length --format markdown --columns n,symbol,instruction,changed
record chain sum_of_odd_squares --memory --
listing chain --format markdown --markdown fenced --source --collapse-loops --columns n,instruction,changed --remap "$sources=."
record hello hello --
listing hello --format markdown --source --remap "$sources=."
record handler on_signal --memory --
listing handler --format markdown --source --remap "$sources=."
record factorial factorial --memory --
listing factorial --format markdown --markdown fenced --columns n,depth,instruction,changed
if [ -z "$check" ]; then
    "$overstep" list "$work/factorial.ostrace" --format html --source > "$here/factorial.html"
fi
exit $status
