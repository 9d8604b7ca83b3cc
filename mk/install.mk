# make install: one directory with the layout of an OTP application. The tree has
# the same layout, so the command finds its parts in /proc/self/exe/../.. in both.
# ERL_LIBS=$(PREFIX)/lib makes the API available.

#: PREFIX=/usr/local DESTDIR=   where `make install` puts things
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib/inviso
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
BASHCOMPDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR ?= $(PREFIX)/share/zsh/site-functions
dest = $(DESTDIR)$(1)

.PHONY: install uninstall
install: all			## install the command, the application, the library for C nodes, the man pages and the completions
	install -d $(call dest,$(LIBDIR)/ebin) $(call dest,$(LIBDIR)/priv) $(call dest,$(PREFIX)/bin)
	$(if $(BEAMS),install -m 644 $(BEAMS) $(call dest,$(LIBDIR)/ebin))
	install -m 644 $(EBIN)/inviso.app $(call dest,$(LIBDIR)/ebin)
	$(if $(CLI)$(SPOOL),install -m 755 $(CLI) $(HELPERS) $(SPOOL) $(call dest,$(LIBDIR)/priv))
	$(if $(strip $(NIFS)),install -m 644 $(NIFS) $(call dest,$(LIBDIR)/priv))
	install -d $(call dest,$(LIBDIR)/priv/pushed)
	install -m 644 $(dir $(PUSHED))* $(call dest,$(LIBDIR)/priv/pushed)
	$(if $(wildcard include/*.hrl),install -d $(call dest,$(LIBDIR)/include))
	$(if $(wildcard include/*.hrl),install -m 644 $(wildcard include/*.hrl) $(call dest,$(LIBDIR)/include))
	$(if $(CNODE_LIB),install -d $(call dest,$(INCLUDEDIR)))
	$(if $(CNODE_LIB),install -m 644 include/inviso_cnode.h $(call dest,$(INCLUDEDIR)))
	$(if $(CNODE_LIB),install -m 644 $(CNODE_LIB) $(call dest,$(PREFIX)/lib))
	$(if $(CLI),ln -sfn $(if $(filter $(PREFIX)/lib/inviso,$(LIBDIR)),../lib/inviso,$(LIBDIR))/priv/inviso $(call dest,$(PREFIX)/bin/inviso))
	set -e; for page in $(wildcard docs/man/*.[1-8]); do \
		dir=$(call dest,$(MANDIR))/man$${page##*.}; \
		install -d "$$dir"; install -m 644 "$$page" "$$dir"; done
	install -d $(call dest,$(BASHCOMPDIR)) $(call dest,$(ZSHCOMPDIR))
	install -m 644 share/inviso.bash $(call dest,$(BASHCOMPDIR)/inviso)
	install -m 644 share/_inviso $(call dest,$(ZSHCOMPDIR)/_inviso)

uninstall:			## remove what `make install` installed
	rm -rf $(call dest,$(LIBDIR))
	rm -f $(call dest,$(PREFIX)/bin/inviso)
	rm -f $(call dest,$(INCLUDEDIR)/inviso_cnode.h) $(call dest,$(PREFIX)/lib/libinviso_cnode.a)
	rm -f $(call dest,$(BASHCOMPDIR)/inviso) $(call dest,$(ZSHCOMPDIR)/_inviso)
	rm -f $(foreach p,$(notdir $(wildcard docs/man/*.[1-8])),$(call dest,$(MANDIR)/man$(lastword $(subst ., ,$(p)))/$(p)))
