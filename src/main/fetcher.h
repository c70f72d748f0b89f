/* fetcher.h - the operation "fetch_file" of a runner: a file from a URL of the client's (fetch/fetch.h) into
 * the sandbox. Off unless --fetch-urls says otherwise.
 */
#ifndef MAIN_FETCHER_H
#define MAIN_FETCHER_H

#include "child/runner_child.h"

/* A struct runner_extra's function, with the struct config as its context. */
runner_operation fetcher_run;

#endif
