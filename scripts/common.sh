# Shared by ./quickstart and ./check; sourced, not run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
configuration=(${ACID_CONFIGURATION:-})  # arguments for cmake, beside the preset
readonly jobs=2   # a file that includes LibTorch takes over 2 GB to compile

# step TITLE COMMAND…: prints the title, and how long the command took.
step() {
  local title=$1 begun=$SECONDS
  shift
  echo "== $title"
  "$@" || { echo "== failed: $title ($((SECONDS - begun)) s)" >&2; exit 1; }
  echo "== done: $title ($((SECONDS - begun)) s)"
}

# Whether the distribution has a package of this name. Apt takes a name that it does not know for a
# pattern, such as `g++`, and answers with all packages that match: the first line names the
# package.
has_package() { [[ $(apt-cache policy "$1" 2>/dev/null) =~ ^"$1":.*Candidate:\ [^\(] ]]; }

# Installs the packages that dpkg does not list as installed; asks if it may not. A package with a
# command beside it is not missing if that command exists, wherever it came from. Packages that the
# distribution does not have are left out, as are models if LibTorch is neither packaged nor named.
# `install_packages build` leaves out the packages that only the tests need.
install_packages() {
  if [ -n "${ACID_PACKAGES:-}" ]; then
    echo "Packages are in $ACID_PACKAGES (scripts/bootstrap-user)."
    return 0
  fi
  command -v dpkg-query >/dev/null || { echo "No dpkg here: see scripts/packages.txt"; return 0; }
  local package command missing=() found=()
  while read -r package command; do
    [ -z "$command" ] || ! command -v "$command" >/dev/null || continue
    dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
      missing+=("$package")
  done < <(sed "${1:+/^# For the tests alone/q}" scripts/packages.txt | grep -v '^#')
  # A system that was never updated knows no packages.
  has_package g++ || [ ${#missing[@]} -eq 0 ] || [ "$(id -u)" -ne 0 ] || apt-get update -q
  for package in "${missing[@]}"; do
    if has_package "$package" || ! has_package g++; then
      found+=("$package")
    else
      echo "This distribution has no package $package."
      [ "$package" != libtorch-dev ] || [ -n "${Torch_DIR:-}${CMAKE_PREFIX_PATH:-}" ] ||
        configuration+=(-DACID_WITH_TORCH=OFF)
    fi
  done
  if [ ${#found[@]} -eq 0 ]; then
    echo "Nothing is missing."
  elif [ "$(id -u)" -eq 0 ]; then
    export DEBIAN_FRONTEND=noninteractive
    local install=(apt-get install -y --no-install-recommends -q "${found[@]}")
    "${install[@]}" || { apt-get update -q && "${install[@]}"; }
  else
    echo "Some packages are missing. Please have this run by root, then start again:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends ${found[*]}" >&2
    echo "Without root: scripts/bootstrap-user fetches them into your home." >&2
    return 1
  fi
}

# build PRESET [TARGET…]: configures a preset and builds the targets, or everything.
build() {
  local preset=$1
  shift
  cmake --preset "$preset" "${configuration[@]}" >/dev/null &&
    cmake --build --preset "$preset" -j "$jobs" --target "${@:-all}"
}
