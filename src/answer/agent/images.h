/* images.h - which images go to a model that sees: those that the user attached, and those that code drew or
 * saved. The conversation only refers to them. Before a request those that will be sent are made ready inside
 * the sandbox, scaled down, as PNG. Private to agent.
 */
#ifndef AGENT_IMAGES_H
#define AGENT_IMAGES_H

#include <stddef.h>
#include <stdint.h>

struct agent;
struct cell_result;
struct conversation;
struct turn_image;

#define IMAGES_AT_ONCE 4                 /* of one cell or folder */
#define IMAGES_EDGE    1024              /* pixels */
#define IMAGES_MOST    ((size_t)1 << 20) /* bytes of one PNG */
#define IMAGES_WAITING 20                /* attached to one question */

/* Images that are not in the conversation yet. */
struct image_list {
    struct turn_image *v;
    size_t n;
};
void image_list_release(struct image_list *l);
/* Add them to the conversation's last turn: copies, or, if they are taken, none are left in the list. */
void image_list_copy(const struct image_list *l, struct conversation *c);
void image_list_take(struct image_list *l, struct conversation *c);

/* A file was attached as name: if it is an image, it goes with the next question. path: as the user wrote it;
 * NULL: a pipe. Its bytes begin at that place of fd. */
void images_attached(struct agent *a, const char *name, const char *path, int fd, int64_t at);
/* The first images of a folder that is attached: found one by one, then attached. */
struct image_files {
    struct image_file {
        char *name;
        int fd; /* ours */
    } v[IMAGES_AT_ONCE];
    size_t n, all;
};
void images_found(void *files, const char *name, int fd); /* a callback; files is a struct image_files */
void image_files_release(struct image_files *files);
void images_of_folder(struct agent *a, const char *folder, const struct image_files *files);
/* The images that a cell made. */
void images_of_cell(const struct cell_result *r, struct image_list *out);
/* Make ready what will be sent of the conversation (llm_first_image()). */
void images_prepare(struct agent *a);

#endif
