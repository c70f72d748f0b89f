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

/* What --allow-net and --secret allow. */
struct network_setup {
    char *text;     /* for sandbox_options.network, with the secrets; NULL: nothing is allowed */
    char *line;     /* for people and for the model: "api.example.com, *.wikipedia.org" */
    char *no_proxy; /* what the sandbox has at its own loopback */
    char *added;    /* "NAME is added to requests to http://api.example.com, which go on by https"; or NULL */
};

void setup_sandbox(const struct config *c, struct sandbox_options *o);
/* Register the engines that config.yaml defines. Call once, before any engine is looked up; c must stay
 * alive. */
void setup_engines(const struct config *c);
/* Make those of config.yaml known as well. Once; c is borrowed for good. */
void setup_languages(const struct config *c);
/* Can the sandbox have the name it was given? Otherwise ERROR_USAGE with one line. */
int setup_name_check(const struct config *c, struct error *err);
/* Has the engine that was named what else was named, an image, a runtime, folders? Otherwise ERROR_USAGE. */
int setup_engine_check(const struct config *c, struct error *err);
/* The same, and opens and checks the folders of --mount, to go into engine_options; m must outlive the
 * sandbox. ERROR_USAGE. */
int setup_mounts(const struct config *c, struct mounts *m, struct error *err);
/* Reads the secrets from the environment. ERROR_USAGE. Release n also after a failure. */
int setup_network(const struct config *c, struct network_setup *n, struct error *err);
void network_setup_release(struct network_setup *n);
/* "network: code may reach api.example.com (--allow-net)". The caller frees. */
char *network_setup_line(const struct network_setup *n);
/* Gives it to a sandbox; n must outlive that. */
void network_setup_use(const struct network_setup *n, struct sandbox_options *o);
void setup_agent(const struct config *c, struct agent_options *o);
/* The result points into c and e; model decides the profile. */
void setup_llm(const struct config *c, const struct endpoint *e, const char *model, struct llm_options *o);
void setup_llm_session(const struct config *c, struct llm_session *s);

#endif
