/* setup.h - from the configuration to the option struct of each room below. Every decision was made in
 * config. What is filled in points into the configuration, which must stay alive.
 */
#ifndef ASK_SETUP_H
#define ASK_SETUP_H

struct agent_options;
struct config;
struct endpoint;
struct error;
struct llm_options;
struct llm_session;
struct mounts;
struct sandbox_options;

void setup_sandbox(const struct config *c, struct sandbox_options *o);
/* Register the engines that config.yaml defines. Call once, before any engine is looked up; c must stay
 * alive. */
void setup_engines(const struct config *c);
/* Can the sandbox have the name it was given? Otherwise ERROR_USAGE with one line. */
int setup_name_check(const struct config *c, struct error *err);
/* Has the engine that was named what else was named, an image, a runtime, folders? Otherwise ERROR_USAGE. */
int setup_engine_check(const struct config *c, struct error *err);
/* The same, and opens and checks the folders of --mount, to go into engine_options; m must outlive the
 * sandbox. ERROR_USAGE. */
int setup_mounts(const struct config *c, struct mounts *m, struct error *err);
void setup_agent(const struct config *c, struct agent_options *o);
/* The result points into c and e; model decides the profile. */
void setup_llm(const struct config *c, const struct endpoint *e, const char *model, struct llm_options *o);
void setup_llm_session(const struct config *c, struct llm_session *s);

#endif
