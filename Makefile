# make run    builds Cygnus and shows it at work: `cygnus demo`
# make test   everything that CI runs
# make help   the rest

CARGO ?= cargo
# Requests of the torture share; ten million are for `cygnus torture --campaign` by hand.
REQUESTS ?= 600000
# Rounds of load, kill -9 and restart for each of m = 0 (nothing lost), 1, 2 and 3 lost members.
ROUNDS ?= 3
# Arrays of drawn shapes, each walked over by an operator for some rounds: about twenty seconds each.
WALKS ?= 30

.PHONY: help run test setup lint made unit torture operator trouble clients hostile siege crash walk python ray threads bench man clean
.PHONY: with-servers kills clients-of-logs clients-in-place

help:
	@echo 'make run       build, then show an array at work (about a minute)'
	@echo 'make test      everything CI runs: lint, unit, torture, operator, trouble, clients, hostile, crash, python'
	@echo 'make lint      formatting and clippy, warnings are errors'
	@echo 'make unit      unit and property tests'
	@echo 'make torture   $(REQUESTS) requests to whole arrays with faults in virtual time (REQUESTS=N)'
	@echo 'make operator  every command with good and bad input, twice, cut short, on servers that are killed'
	@echo 'make trouble   members that hang, are gone, full or frozen for a while, under a client that writes and verifies'
	@echo 'make clients   real NBD clients: nbdinfo, nbdcopy, fio, qemu, libnbd, file systems'
	@echo 'make hostile   clients that mean harm: what they can take of a server, and what others notice'
	@echo 'make siege     the same for longer, and judged: a client waits no more than twice as long beside any of them'
	@echo 'make crash     $(ROUNDS) rounds of kill -9 each with 0 to 3 members lost (ROUNDS=N)'
	@echo 'make walk      $(WALKS) arrays of drawn shapes under clients and an operator, stopped and killed, each block compared (WALKS=N)'
	@echo 'make python    the Python package, in an environment of its own'
	@echo 'make ray       the same on Ray too, which is downloaded first (75 MB)'
	@echo 'make threads   what threads share: models, real reactors under the thread sanitizer (nightly, rust-src), kill -9'
	@echo 'make bench     the engine beside the limits of this machine'
	@echo 'make man       man pages into target/man'
	@echo 'make setup     install the Debian packages that are missing'

run:
	@scripts/setup.sh build
	$(CARGO) build --release -p cygnus-cli
	target/release/cygnus demo

test: setup lint made
	@$(MAKE) --no-print-directory PROGRAMS=made --jobs=2 --output-sync=recurse beside-unit with-servers
	@$(MAKE) --no-print-directory PROGRAMS=made --jobs=3 --output-sync=recurse beside-torture clients-of-logs kills
	@echo 'all tests passed'

# Tests that compute, beside others that mostly wait: these go first, so that no server is late for want of a processor.
beside-%:
	@nice -n 10 $(MAKE) --no-print-directory PROGRAMS=made --jobs=1 $*

# Servers that mostly wait: for members in trouble, for clients that mean harm, for an operator.
with-servers:
	@$(MAKE) --no-print-directory PROGRAMS=made --jobs=1 trouble hostile operator

# Servers that are killed and start again, while real clients wait too; then clients of arrays in place, which take as long as is left.
kills:
	@$(MAKE) --no-print-directory PROGRAMS=made --jobs=1 crash python clients-in-place

setup:
	@scripts/setup.sh test

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	@# The fuzzer itself, which is C++, is not built for that.
	CUSTOM_LIBFUZZER_PATH=target/libfuzzer.a $(CARGO) check --manifest-path fuzz/Cargo.toml --target-dir target/fuzz

# Every test, and the programs with them.
made:
	$(CARGO) test --workspace --no-run

unit:
	$(CARGO) test --workspace

# The unit tests have made the programs too. Made without them, libraries have fewer features and compile once more.
ifneq ($(PROGRAMS),made)
target/debug/cygnus: FORCE
	$(CARGO) build -p cygnus-cli -p cygnus-crashcheck
FORCE:
endif

torture: target/debug/cygnus
	target/debug/cygnus torture --requests $(REQUESTS) --campaign
	target/debug/cygnus torture --about zoned --seeds 60 --stop-at-failure --stories target
	target/debug/cygnus torture --seeds 100 --plant flushes-ignored --stop-at-failure --stories target

operator: target/debug/cygnus
	tests/operator/run.sh

trouble: target/debug/cygnus
	tests/trouble/run.sh --quick

clients: clients-of-logs clients-in-place

clients-of-logs: target/debug/cygnus
	tests/clients/presets swan log-raid serial

clients-in-place: target/debug/cygnus
	tests/clients/presets raid5 raid10

hostile: target/debug/cygnus
	tests/hostile/run.sh --quick

# How long a client waits is judged with the programs that users run.
siege:
	$(CARGO) build --release -p cygnus-cli -p cygnus-crashcheck
	CYGNUS=$(CURDIR)/target/release/cygnus BYSTANDER=$(CURDIR)/target/release/bystander tests/hostile/run.sh --full

crash: target/debug/cygnus
	tests/crash/run.sh --rounds $(ROUNDS)
	tests/crash/run.sh --rounds $(ROUNDS) --lose 1
	tests/crash/run.sh --rounds $(ROUNDS) --lose 2
	tests/crash/run.sh --rounds $(ROUNDS) --lose 3
	SERVE_FLAGS='--reactors 2' tests/crash/run.sh --rounds $(ROUNDS) --ack written --lose 1
	tests/crash/run.sh --rounds $(ROUNDS) --ack durable
	SERVE_FLAGS='--reactors 3' tests/crash/run.sh --rounds $(ROUNDS) --preset log-raid --lose 1
	tests/crash/run.sh --rounds $(ROUNDS) --preset serial --lose 1
	SERVE_FLAGS='--kept-in none' tests/crash/run.sh --rounds $(ROUNDS) --preset fusion --lose 1
	CREATE_FLAGS='--protection parity-buffer' SERVE_FLAGS='--kept-in none' \
		tests/crash/run.sh --rounds $(ROUNDS) --preset log-raid --lose 2
	MEMBERS=ssd tests/crash/run.sh --rounds $(ROUNDS) --preset scala-afa --ack written --lose 1
	MEMBERS=ssd tests/crash/run.sh --rounds $(ROUNDS) --preset scala-afa
	tests/crash/run.sh --rounds $(ROUNDS) --preset raid5
	tests/crash/run.sh --rounds $(ROUNDS) --preset raid10 --lose 1

walk: target/debug/cygnus
	@scripts/setup.sh test
	tests/walk/run.py --seeds $(WALKS)

python: target/debug/cygnus
	python/test.sh

ray: target/debug/cygnus
	python/test.sh ray

# The models and a short stress are unit tests too. The sanitizer needs the standard library built with it.
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
threads: target/debug/cygnus
	rustup component add rust-src --toolchain nightly
	$(CARGO) test -p cygnus-threads
	CYGNUS_STRESS=300000 $(CARGO) test -p cygnus-threads --test stress
	RUSTFLAGS=-Zsanitizer=thread $(CARGO) +nightly test \
		-Zbuild-std --target $(HOST) --target-dir target/sanitized -p cygnus-threads --test stress
	SERVE_FLAGS='--reactors 4' tests/crash/run.sh --rounds $(ROUNDS)
	SERVE_FLAGS='--reactors 4' tests/crash/run.sh --rounds $(ROUNDS) --lose 2

bench:
	$(CARGO) build --release -p cygnus-cli
	target/release/cygnus bench engine

man: target/debug/cygnus
	target/debug/cygnus man --out target/man

clean:
	$(CARGO) clean
