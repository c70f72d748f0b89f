/* embedded.c - the YAML files that are compiled in. */
#include "config/embedded.h"

EMBED(providers_yaml, "src/data/config/providers.yaml")
EMBED(engines_yaml, "src/data/config/engines.yaml")
EMBED(models_yaml, "src/data/config/models.yaml")
EMBED(prompts_yaml, "prompts/python.yaml")
EMBED(files_yaml, "prompts/files.yaml")
EMBED(code_yaml, "prompts/code.yaml")
EMBED(pipelines_yaml, "prompts/pipelines.yaml")
