# sandpiper: make, make run, make quick, make test, make check, make probe, make bench, make fuzz, make lint, make install,
# make uninstall, make deb, make docs, make image, make image-serve, make local-model.
# One file, no recursion. Objects lie under build/MODE, so release, asan and fuzz never mix: make MODE=asan.

VERSION  = 0.1.0
MODE    ?= release
CC      ?= cc
PKG_CONFIG ?= pkg-config
B        = build/$(MODE)
PREFIX  ?= /usr/local

# The wings, lowest first, and the rooms in them, lowest first (docs/ARCHITECTURE.md). USES_ names what a room includes itself; what
# it is linked with follows from that, for the program and for the unit tests, so an arrow that bends does not link.
WINGS    = common data model sandbox answer terminal serve main
ROOMS_common   = base process json
ROOMS_data     = operations conversation yaml config sniff provenance receipt
ROOMS_model    = calls wire llm fetch net proxy
ROOMS_sandbox  = limits records mount packages engine channel sandbox
ROOMS_answer   = agent store upload ask saved child
ROOMS_terminal = markdown show pipe term
ROOMS_serve    = openai front batch bot mcp server clients
ROOMS_main     = main
ROOMS    = $(foreach w,$(WINGS),$(ROOMS_$(w)))
USES_base         =
USES_process      = base
USES_json         = base
USES_operations   = json base
USES_conversation = json base
USES_yaml         = json base
USES_config       = yaml conversation json process base
USES_sniff        = json base
USES_provenance   = conversation base
USES_receipt      = provenance conversation json base
USES_calls        = conversation json base
USES_wire         = calls conversation json base
USES_llm          = wire conversation json process base
USES_fetch        = llm process base
USES_net          = llm process base
USES_proxy        = llm json base
USES_limits       = json base
USES_records      = limits json base
USES_mount        = base
USES_packages     = json process base
USES_engine       = mount records limits json process base
USES_channel      = process base
USES_sandbox      = channel engine mount records limits conversation json process base
USES_agent        = sniff provenance llm sandbox conversation json process base
USES_store        = receipt conversation json process base
USES_upload       = llm conversation base
USES_ask          = upload agent proxy llm sandbox engine packages mount config conversation process base
USES_child        = ask agent sandbox config operations conversation json process base
USES_saved        = ask agent sandbox store records config conversation process base
USES_markdown     = conversation base
USES_show         = markdown conversation process base
USES_pipe         = show agent sniff conversation json process base
USES_term         = show agent sandbox provenance conversation process base
USES_openai       = json base
USES_front        = records operations json process base
USES_batch        = front openai operations conversation json process base
USES_bot          = net front json process base
USES_mcp          = front operations json base
USES_server       = mcp front operations openai json process base
USES_clients      = server front json process base
USES_main         = clients server mcp bot batch front net proxy fetch saved child ask term pipe show store agent llm wire sandbox engine packages mount records receipt config conversation json process base

# A static library comes before those that it needs: the highest room first.
$(foreach r,$(ROOMS),$(eval DOWNWARD = $(r) $(DOWNWARD)))
$(foreach r,$(ROOMS),$(eval BELOW_$(r) := $(sort $(foreach u,$(USES_$(r)),$(u) $(BELOW_$(u))))))
below    = $(filter $(BELOW_$(1)),$(DOWNWARD))

PKGS     = libcurl libcjson yaml-0.1 readline libseccomp md4c sqlite3 chafa libmicrohttpd
# Opened when they are first needed (dlopen), so that a start does not pay for them.
LATE     = libcurl sqlite3 chafa libmicrohttpd
CPPFLAGS += -D_GNU_SOURCE -DVERSION='"$(VERSION)"' $(WINGS:%=-Isrc/%) -Isrc -I. $(PKG_CFLAGS)
WARN     = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla -Wformat=2 -Wwrite-strings
CFLAGS_release = -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE
LDFLAGS_release = -pie -Wl,-z,relro -Wl,--as-needed
CFLAGS_asan = -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
LDFLAGS_asan = -fsanitize=address,undefined
CFLAGS_fuzz = -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
LDFLAGS_fuzz = -fsanitize=fuzzer,address,undefined
ALL_CFLAGS = -std=gnu17 $(WARN) $(CFLAGS_$(MODE)) $(CFLAGS)
ALL_LDFLAGS = $(LDFLAGS_$(MODE)) $(LDFLAGS)

src_of   = $(wildcard src/*/$(1)/*.c src/$(1)/*.c)
objs_of  = $(patsubst src/%.c,$(B)/%.o,$(call src_of,$(1)))
lib_of   = $(patsubst %,$(B)/lib%.a,$(1))

# One short line a command; make V=1 shows the commands.
say      = $(if $(V),,@echo '$(1) $(2)';)

PROGRAM  = $(B)/sandpiper
UNIT_SRC = $(wildcard tests/unit/*/*.c)
UNIT_BIN = $(patsubst tests/unit/%.c,$(B)/unit/%,$(UNIT_SRC))

.PHONY: all clean unit units run quick test check ready test-model test-kubernetes probe image image-serve local-model install uninstall deb wheel wheel-arm64 docs
all: build/sandpiper

# A fresh machine: say what is missing, before the compiler does. These goals set up what they need themselves.
SETS_UP  = run quick test check image image-serve local-model clean uninstall deb wheel-arm64 $(if $(SANDPIPER_BIN),probe)
ifneq ($(filter-out $(SETS_UP),$(or $(MAKECMDGOALS),all)),)
ifneq ($(shell command -v $(firstword $(CC)) >/dev/null && $(PKG_CONFIG) --exists $(PKGS) 2>/dev/null && echo yes),yes)
$(shell setup/packages.sh build --check >&2)
$(error packages are missing: pkg-config does not know all of $(PKGS))
endif
# Asked once, and only where it can answer: what it complains of is not the first thing that a new user should read.
PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PKGS))
LIBS     := $(shell $(PKG_CONFIG) --libs $(filter-out $(LATE),$(PKGS))) -ldl -lm
endif

run:
	@setup/run.sh $(ARGS)
# quick: what one runs after each change. check: what takes longer than test, and runs in CI as well (sanitizers, long repetitions, probes). ready: what
# both need, fetched and built beforehand.
quick test check ready:
	@tests/run.sh $@ $(ARGS)
# SET=gaia: tasks with files, of GAIA's shape; SET=traffic: two agents and a large table. make test-model SET=gaia ARGS="--only g1 -- -m NAME"
test-model: build/sandpiper
	@/usr/bin/python3 tests/model/$(or $(SET),run).py $(ARGS)
# The engine kubernetes on the cluster of KUBECONFIG: make test-kubernetes IMAGE=python:3.13
test-kubernetes: $(PROGRAM)
	@test -n "$$KUBECONFIG" || { echo "set KUBECONFIG" >&2; exit 2; }
	@SANDPIPER_TEST_KUBERNETES='$(or $(IMAGE),python:3.13)' /usr/bin/python3 -m pytest -q tests/e2e/test_kubernetes.py
# The containment probes on every engine here, for users and for bug reports: make probe ENGINE="docker bwrap" V=1, or ARGS=--self-test, ARGS=posture.
# SANDPIPER_BIN=/usr/bin/sandpiper probes an installed one, and builds nothing.
probe: $(if $(SANDPIPER_BIN),,$(PROGRAM))
	@SANDPIPER_BIN='$(or $(SANDPIPER_BIN),$(PROGRAM))' V='$(V)' ENGINE='$(ENGINE)' /usr/bin/python3 tests/probes/probe.py $(ARGS)
image:
	@setup/packages.sh image
	@docker/make-image.sh
# The server as an image, with bubblewrap inside: docker/serve.
image-serve: image wheel
	@docker/serve/make.sh
local-model:
	@setup/packages.sh model
	@/usr/bin/python3 setup/local_model.py fetch
	@/usr/bin/python3 setup/local_model.py serve

# What is installed, and where: file, folder beneath PREFIX, name. The shells look for completions in these folders.
SHARE    = setup/completion/sandpiper.bash:share/bash-completion/completions/sandpiper \
           setup/completion/_sandpiper:share/zsh/site-functions/_sandpiper \
           setup/completion/sandpiper.fish:share/fish/vendor_completions.d/sandpiper.fish \
           $(foreach p,$(wildcard docs/sandpiper*.[15]),$(p):share/man/man$(lastword $(subst ., ,$(p)))/$(notdir $(p))) \
           docs/events.schema.json:share/sandpiper/events.schema.json \
           docs/receipt.schema.json:share/sandpiper/receipt.schema.json
STRIP   ?= -s
INSTALLED = build/sandpiper
install: $(INSTALLED)
	install $(STRIP) -D -m 755 $(INSTALLED) "$(DESTDIR)$(PREFIX)/bin/sandpiper"
	@for f in $(SHARE); do install -D -m 644 "$${f%%:*}" "$(DESTDIR)$(PREFIX)/$${f#*:}" || exit 1; done
uninstall:
	rm -f $(foreach f,bin/sandpiper $(SHARE),'$(DESTDIR)$(PREFIX)/$(lastword $(subst :, ,$(f)))')
deb:
	@setup/deb.sh
# For pip, pipx and uv, and for npm: build/dist/sandpiper_cli-*.whl and sandpiper-cli-*.tgz, with the libraries inside.
wheel:
	@rm -rf $(B)/stage
	@+$(MAKE) -s install INSTALLED=$(B)/beside/sandpiper STRIP= DESTDIR=$(B)/stage PREFIX=
	@/usr/bin/python3 setup/wheel.py $(VERSION) $(B)/stage $(shell $(CC) -print-multiarch) $(shell $(PKG_CONFIG) --libs-only-l $(LATE))
wheel-arm64:
	@setup/packages.sh machine
	@setup/wheel_arm64.sh
# What the documents have of the program: the lists of providers, and the picture of a session.
docs: build/sandpiper
	@/usr/bin/python3 setup/providers_table.py
	@/usr/bin/python3 setup/clients_table.py
	@/usr/bin/python3 docs/picture.py

build/sandpiper: $(PROGRAM)
	@mkdir -p build && ln -sf $(MODE)/sandpiper $@

# The second takes the libraries that lie beside it, as in a wheel. It is linked without what only a debugger reads, which has the paths of this machine.
$(B)/beside/sandpiper: LDFLAGS += -s -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../lib/sandpiper'
$(PROGRAM) $(B)/beside/sandpiper: $(call objs_of,main) $(call lib_of,$(filter-out main,$(ROOMS)))
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(call objs_of,main) $(call lib_of,$(call below,main)) $(LIBS)

define room_rules
$(B)/lib$(1).a: $(call objs_of,$(1))
	@mkdir -p $$(@D) && rm -f $$@
	@$(AR) rcs $$@ $$^
$(B)/unit/$(1)/%: tests/unit/$(1)/%.c $(call lib_of,$(1) $(call below,$(1)))
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -MMD -MP -MF $$@.d -o $$@ $$< $(call lib_of,$(1) $(call below,$(1))) $(LIBS) -lcmocka
endef
$(foreach r,$(filter-out main,$(ROOMS)),$(eval $(call room_rules,$(r))))

$(B)/%.o: src/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# What is compiled in by src/common/base/embed.h, which the compiler does not see.
$(B)/sandbox/channel/guest.o: $(wildcard src/sandbox/guest/*.py) $(B)/gen/guest.code $(B)/gen/file_profile.py $(B)/gen/file_profile.code
$(B)/sandbox/channel/guest.o: CPPFLAGS += -DGUEST_CODE='"$(B)/gen/guest.code"' -DGUEST_PROFILE='"$(B)/gen/file_profile.py"'
$(B)/sandbox/channel/guest.o: CPPFLAGS += -DGUEST_PROFILE_CODE='"$(B)/gen/file_profile.code"'

# One text, in the order of the names.
PROFILE_PARTS = $(sort $(wildcard src/data/file_profile/*.py))
$(B)/gen/file_profile.py: $(PROFILE_PARTS)
	@mkdir -p $(@D)
	$(call say,GUEST,$@)cat $(PROFILE_PARTS) > $@

# The guest compiled by the Python that bwrap will start (and the image's, where it is the same version). Without one here the file is empty
# and the guest is compiled at each start, as it is by every Python that this code does not fit.
GUEST_PARTS = $(filter-out %/boot.py %/walls.py,$(wildcard src/sandbox/guest/*.py))
$(B)/gen/guest.code: $(GUEST_PARTS)
$(B)/gen/file_profile.code: $(B)/gen/file_profile.py
$(B)/gen/%.code: src/sandbox/channel/guest_code.py
	@mkdir -p $(@D)
	$(call say,GUEST,$@)if [ -x /usr/bin/python3 ]; then /usr/bin/python3 -I $< $@ $(filter-out $<,$^); else : > $@; fi
$(B)/terminal/term/cmd_python.o: src/terminal/term/vars.py
$(B)/data/operations/operations.o: src/data/operations/operations.json
$(B)/serve/server/builtin_routes.o: $(addprefix src/serve/server/docs.,html js css)
$(B)/serve/clients/e2b_inside.o: src/serve/clients/e2b_inside.py
$(B)/data/config/embedded.o: $(wildcard src/data/config/*.yaml) $(wildcard prompts/*.yaml)

# The chat's commands: a line for each row that a cmd_*.c defines, by name.
$(B)/terminal/term/commands.o: $(B)/gen/chat_commands.h
$(B)/terminal/term/commands.o: CPPFLAGS += -DCHAT_COMMANDS='"$(B)/gen/chat_commands.h"'
$(B)/gen/chat_commands.h: $(wildcard src/terminal/term/cmd_*.c) src/terminal/term
	@mkdir -p $(@D)
	$(call say,LIST,$@)sed -n 's/^const struct chat_command command_\([a-z]*\) = .*/COMMAND(\1)/p' $(filter %.c,$^) | LC_ALL=C sort > $@

# The filter's BPF program, made by our own table at build time. A builder that cannot run what it builds leaves it to each start.
$(B)/sandbox/limits/seccomp_ready.o: $(B)/gen/seccomp.bpf
$(B)/sandbox/limits/seccomp_ready.o: CPPFLAGS += -DSECCOMP_BPF='"$(B)/gen/seccomp.bpf"'
$(B)/gen/seccomp.bpf: $(B)/gen/seccomp_program
	$(call say,BPF,$@)$(EMULATOR) $< $@ $(B)/gen/seccomp.json || { : > $@; : > $(B)/gen/seccomp.json; }
$(B)/gen/seccomp_program: src/sandbox/limits/make/seccomp_program.c $(B)/sandbox/limits/seccomp.o $(B)/sandbox/limits/seccomp_table.o $(B)/libjson.a $(B)/libbase.a
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -o $@ $^ $(LIBS)

# What goes along to another machine: a program of its own, statically linked, whatever the mode is. Where there are no static libraries, or the
# builder cannot run what it builds, it is left out (it is empty), and sandpiper has to be installed on the other machine.
INSIDE_PARTS = $(addprefix src/sandbox/engine/,make/inside_main.c inside.c inside_apptainer.c bwrap_argv.c bwrap_limits.c hard_limits.c options.c plan.c) \
               $(wildcard src/sandbox/limits/*.c src/common/base/*.c src/common/process/*.c) src/sandbox/records/owner.c
$(B)/sandbox/engine/inside_apptainer.o: $(B)/gen/seccomp.bpf
$(B)/sandbox/engine/inside_apptainer.o: CPPFLAGS += -DSECCOMP_JSON='"$(B)/gen/seccomp.json"'
$(B)/sandbox/engine/inside_send.o: $(B)/gen/inside
$(B)/sandbox/engine/inside_send.o: CPPFLAGS += -DINSIDE_PROGRAM='"$(B)/gen/inside"'
$(B)/gen/inside: $(INSIDE_PARTS) $(wildcard src/sandbox/engine/*.h) $(B)/gen/seccomp.bpf
	$(call say,LINK,$@)$(CC) $(CPPFLAGS) -DSECCOMP_BPF='"$(B)/gen/seccomp.bpf"' -DSECCOMP_JSON='"$(B)/gen/seccomp.json"' -std=gnu17 -Os -w \
	  -ffunction-sections -fdata-sections -static -s -Wl,--gc-sections -o $@ $(INSIDE_PARTS) -lseccomp -lm 2>$@.log || : > $@

# Those that take longest first.
UNIT_LONG = $(filter $(foreach r,sandbox llm calls engine pipe,$(B)/unit/$(r)/%),$(UNIT_BIN))
units: $(UNIT_BIN)
unit: $(UNIT_BIN)
	@tests/unit/run.sh $(UNIT_LONG) $(filter-out $(UNIT_LONG),$(UNIT_BIN))

# Arrows between rooms, headers, banned functions, scripts, and everything compiled by both compilers with -Werror: by gcc as it
# is built, with what each unit test links (where cc is gcc, that is the release build), by clang without making code of it.
LINT_TARGETS = $(foreach r,$(ROOMS),$(call objs_of,$(r))) $(UNIT_BIN)
LINT_GCC = $(if $(shell $(CC) -v 2>&1 | grep '^gcc version'),build/release,build/lint-gcc)
EMBEDDED = -DGUEST_CODE='""' -DGUEST_PROFILE='""' -DGUEST_PROFILE_CODE='""' -DSECCOMP_BPF='""' -DSECCOMP_JSON='""' -DINSIDE_PROGRAM='""' -DCHAT_COMMANDS='"$(B)/gen/chat_commands.h"'
# The parts side by side, as many as there are processors (or as make -j says).
LINT_PARTS = lint-text lint-headers lint-gcc lint-clang
.PHONY: lint lint-compile rules $(LINT_PARTS)
lint:
	@+$(MAKE) -s $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc)) $(LINT_PARTS)
lint-text: messages
	@tests/lint/check-layers.sh
	@/usr/bin/python3 -B tests/lint/source.py
	@/usr/bin/python3 -B tests/lint/sizes.py
	@/usr/bin/python3 -B tests/lint/options.py
	@/usr/bin/python3 -B tests/lint/lists.py
	@/usr/bin/python3 -B tests/lint/documents.py
	@tests/lint/check-format.sh
	@tests/lint/check-scripts.sh
	@tests/lint/check-providers.sh
	@/usr/bin/python3 -B setup/clients_table.py --check
lint-headers:
	@CC='$(CC)' tests/lint/check-headers.sh $(filter-out -O%,$(CPPFLAGS) -std=gnu17 $(WARN))
lint-gcc:
	@+$(MAKE) -s CC=gcc MODE=release B=$(LINT_GCC) lint-compile
lint-compile: $(LINT_TARGETS)
	@tests/lint/check-symbols.sh $(foreach r,$(ROOMS),$(call objs_of,$(r)))
lint-clang: $(B)/gen/chat_commands.h
	@printf '%s\n' $(wildcard src/*/*.c src/*/*/*.c) $(UNIT_SRC) $(wildcard tests/fuzz/*.c tests/bench/*.c) | \
	  xargs -P "$$(nproc)" -n 16 clang $(CPPFLAGS) $(EMBEDDED) -std=gnu17 $(WARN) $(CFLAGS_release) -fsyntax-only

# Each rule with the file that holds it: those of docs/ARCHITECTURE.md, and each RULE in the head of a file.
rules:
	@/usr/bin/python3 -B tests/lint/documents.py --rules

# Every sentence that the program can say, with file and line, to be read in one go.
.PHONY: messages
messages:
	@mkdir -p build
	@/usr/bin/python3 tests/lint/messages.py > build/messages.txt

# Each target FUZZ_SECONDS (60; 0: the corpus only). The archives are all given, so each takes the rooms that it needs.
FUZZ_BIN = $(patsubst tests/fuzz/%.c,$(B)/targets/%,$(wildcard tests/fuzz/fuzz_*.c))
.PHONY: fuzz fuzz-run
fuzz:
	@+$(MAKE) -s MODE=fuzz CC=clang fuzz-run
fuzz-run: $(FUZZ_BIN)
	@tests/fuzz/run.sh $(B) $(FUZZ_BIN)
$(B)/targets/%: tests/fuzz/%.c tests/fuzz/fuzz.h $(call lib_of,$(call below,main))
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -MMD -MP -MF $@.d -o $@ $< $(call lib_of,$(call below,main)) $(LIBS)

# The figures of docs/BENCH.md; make bench BENCH="cell flood" for some of them.
BENCH_BIN = $(B)/bench/hello $(B)/bench/hello-curl $(B)/bench/cells $(B)/bench/markdown
.PHONY: bench
bench: build/sandpiper $(BENCH_BIN)
	@PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 tests/bench/bench.py build/sandpiper $(B)/bench $(BENCH)
$(B)/bench/hello: tests/bench/hello.c
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(ALL_CFLAGS) -pie -Wl,--no-as-needed -o $@ $< $(LIBS)
$(B)/bench/hello-curl: tests/bench/hello.c
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(ALL_CFLAGS) -pie -Wl,--no-as-needed -o $@ $< $(LIBS) $(shell $(PKG_CONFIG) --libs libcurl)
$(B)/bench/cells: tests/bench/cells.c $(call lib_of,sandbox $(call below,sandbox))
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(call lib_of,sandbox $(call below,sandbox)) $(LIBS)
$(B)/bench/markdown: tests/bench/markdown.c $(call lib_of,markdown $(call below,markdown))
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $< $(call lib_of,markdown $(call below,markdown)) $(LIBS)

clean:
	rm -rf build

-include $(shell find $(B) -type f -name '*.d' 2>/dev/null)
