/* microhttpd_load.h - loads libmicrohttpd on first use: it brings GnuTLS along, and no other command may wait
 * for that. Call functions as mhd->run(); the members have the library's own types.
 */
#ifndef SERVER_MICROHTTPD_LOAD_H
#define SERVER_MICROHTTPD_LOAD_H

#include <microhttpd.h>

struct error;

/* clang-format off */
#define MHD_FUNCTIONS(X) \
    X(start_daemon) X(stop_daemon) X(quiesce_daemon) X(run) X(get_timeout) X(get_daemon_info) \
    X(get_connection_info) X(get_connection_values) X(lookup_connection_value) \
    X(suspend_connection) X(resume_connection) X(queue_response) \
    X(create_response_from_buffer) X(create_response_from_callback) X(create_response_from_fd64) \
    X(add_response_header) X(destroy_response) \
    X(set_connection_option)
/* clang-format on */

struct mhd_api {
#define X(name) __typeof__(&MHD_##name) name;
    MHD_FUNCTIONS(X)
#undef X
};

/* Returns the table, which is the same each time. NULL with ERROR_SYSTEM when it is missing. */
const struct mhd_api *mhd_load(struct error *err);

#endif
