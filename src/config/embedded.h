/* embedded.h - the YAML files that are compiled in. */
#ifndef CONFIG_EMBEDDED_H
#define CONFIG_EMBEDDED_H

#include "base/embed.h"

extern const char providers_yaml[], providers_yaml_end[]; /* src/config/providers.yaml */
extern const char models_yaml[], models_yaml_end[];       /* src/config/models.yaml */
extern const char prompts_yaml[], prompts_yaml_end[];     /* prompts/python.yaml */

#endif
