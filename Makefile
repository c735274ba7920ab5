# Entry points for people and for CI; the work is in scripts/.
#
#   make build                the library, the launcher and the tools
#   make install PREFIX=DIR   the same, installed under DIR (default: ./install)
#   make uninstall PREFIX=DIR remove what was installed under DIR
#   make demo                 install into ./install, run a program and a first measurement
#   make dist                 what is released, in ./dist: archive, wheel, packages, debug files, bill of materials
#   make docs                 the documents as a site, in target/docs
#   make test                 every check; the last line reads "N passed, N failed, N skipped"
#   make apps                 build and run real applications (downloads their sources into .apps/)
#   make apps APPS=status     when each of them last passed, and on which commit
#   make deny                 licences, sources and known weaknesses of all dependencies, by cargo-deny and cargo-audit
#   make fuzz TARGET=NAME     fuzz one target of fuzz/ for FUZZ_SECONDS (default 60); needs nightly and cargo-fuzz
#   make clean                remove what was built (not .apps/)
#
# PROFILE=dev builds faster and runs slower; `make test` takes it unless PROFILE=release asks for what is released.
# STEPS="fmt unit" restricts `make test`, APPS="netpipe" `make apps`.

PREFIX ?= $(CURDIR)/install
STEPS  ?=
APPS   ?=

.PHONY: build install uninstall demo dist docs test apps deny fuzz clean

build:
	scripts/build

install:
	scripts/install "$(PREFIX)"

uninstall:
	scripts/uninstall "$(PREFIX)"

demo:
	scripts/demo

dist:
	scripts/dist

docs:
	scripts/docs

test:
	scripts/test $(STEPS)

apps:
	tests/apps/all $(APPS)

deny:
	scripts/deny

TARGET       ?= ob1_frames
FUZZ_SECONDS ?= 60

fuzz:
	cd fuzz && cargo +nightly fuzz run $(TARGET) -- -max_total_time=$(FUZZ_SECONDS)

clean:
	cargo clean
	rm -rf install
