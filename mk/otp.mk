# Directories of Erlang/OTP. `erl` is asked for each at its first use only.

#: ERL=erl ERLC=erlc   ERTS_INCLUDE_DIR=DIR ERL_EI_LIBDIR=DIR ERL_EI_INCLUDE_DIR=DIR (as rebar3 and elixir_make set them)
ERL ?= erl
ERLC ?= erlc

ask_erl = $(shell $(ERL) -noinput -boot start_clean -eval 'io:put_chars($(1)), halt().' 2>/dev/null)
# $(call once,NAME,TEXT): the value of TEXT, which is computed at the first
# use.
once = $(eval $(1) := $(2))$($(1))

NIF_INC = $(call once,NIF_INC,$(or $(ERTS_INCLUDE_DIR),$(call ask_erl,filename:join([code:root_dir(),"usr","include"]))))
EI_INC = $(call once,EI_INC,$(or $(ERL_EI_INCLUDE_DIR),$(call ask_erl,code:lib_dir(erl_interface) ++ "/include")))
EI_LIB = $(call once,EI_LIB,$(or $(ERL_EI_LIBDIR),$(call ask_erl,code:lib_dir(erl_interface) ++ "/lib")))
OTP_RELEASE = $(call once,OTP_RELEASE,$(call ask_erl,erlang:system_info(otp_release)))
