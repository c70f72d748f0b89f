/* embedded.h - the YAML files that are compiled in. */
#ifndef CONFIG_EMBEDDED_H
#define CONFIG_EMBEDDED_H

#include "base/embed.h"

extern const char providers_yaml[], providers_yaml_end[]; /* config/providers.yaml */
extern const char engines_yaml[], engines_yaml_end[];     /* config/engines.yaml */
extern const char models_yaml[], models_yaml_end[];       /* config/models.yaml */
/* prompts/python.yaml, and its neighbours */
extern const char prompts_yaml[], prompts_yaml_end[];
extern const char files_yaml[], files_yaml_end[];
extern const char code_yaml[], code_yaml_end[];
extern const char pipelines_yaml[], pipelines_yaml_end[];

#endif
