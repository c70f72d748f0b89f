/* images.c - lists the images of attachments and of cells, has the sandbox make each ready once, and forgets
 * those that no request will send again.
 */
#include "agent/images.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/private.h"
#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/beneath.h"
#include "conversation/bundle.h"

void image_list_release(struct image_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        turn_image_release(&l->v[i]);
    free(l->v);
    *l = (struct image_list){0};
}

static void push(struct image_list *l, struct turn_image image)
{
    l->v = xreallocarray(l->v, l->n + 1, sizeof *l->v);
    l->v[l->n++] = image;
}

void image_list_copy(const struct image_list *l, struct conversation *c)
{
    for (size_t i = 0; i < l->n; i++) {
        struct turn_image copy = {.name = xstrdup(l->v[i].name),
                                  .path = xstrdup(l->v[i].path),
                                  .size = l->v[i].size,
                                  .modified = l->v[i].modified,
                                  .png = xstrdup(l->v[i].png),
                                  .spoilt = l->v[i].spoilt};

        conversation_image(c, &copy);
    }
}

void image_list_take(struct image_list *l, struct conversation *c)
{
    for (size_t i = 0; i < l->n; i++)
        conversation_image(c, &l->v[i]);
    image_list_release(l);
}

/* The user is told once where the images go, and in which form. */
static void tell_images(struct agent *a, const struct turn_image *image)
{
    if (!a->told_images)
        agent_notice(
            a, NOTICE_INFO,
            "%s is sent to %s too (images: at most %d x %d pixels, the newest few; --vision off sends "
            "none)",
            image->name, llm_model(a->llm), IMAGES_EDGE, IMAGES_EDGE);
    a->told_images = true;
}

/* One that cannot be made is not tried again, unless the user or the sandbox was the reason. */
static void make(struct agent *a, struct turn_image *image, int fd)
{
    const struct picture_ask ask = {image->name, fd, IMAGES_EDGE, IMAGES_MOST};
    struct buf png autorelease(buf_release) = BUF_INIT(IMAGES_MOST), text = BUF_INIT(0);
    struct error err = {0};

    if (sandbox_picture(a->sandbox, &ask, &png, &err) < 0) {
        image->spoilt = err.kind != ERROR_CANCELLED && err.kind != ERROR_SANDBOX;
        if (image->spoilt)
            agent_notice(a, NOTICE_INFO, "%s does not see %s: %s", llm_model(a->llm), image->name, err.text);
        return;
    }
    base64_add(&text, (const unsigned char *)png.data, png.len);
    image->png = buf_steal(&text, NULL);
    tell_images(a, image);
}

void images_attached(struct agent *a, const char *name, const char *path, int fd, int64_t at)
{
    struct turn_image image = {0};
    struct stat st;

    if (!names_image(name) || a->images.n >= IMAGES_WAITING)
        return;
    image.name = xstrdup(name);
    image.path = path ? realpath(path, NULL) : NULL;
    if (fstat(fd, &st) == 0) {
        image.size = st.st_size;
        image.modified = noted_time(&st);
    }
    if (llm_sees(a->llm) && lseek(fd, (off_t)at, SEEK_SET) == (off_t)at)
        make(a, &image, fd);
    push(&a->images, image);
}

void images_found(void *ctx, const char *name, int fd)
{
    struct image_files *files = ctx;
    int own = names_image(name) && ++files->all <= IMAGES_AT_ONCE ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;

    if (own >= 0)
        files->v[files->n++] = (struct image_file){xstrdup(name), own};
}

void image_files_release(struct image_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        free(files->v[i].name);
        close(files->v[i].fd);
    }
    *files = (struct image_files){0};
}

void images_of_folder(struct agent *a, const char *folder, const struct image_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        autofree char *path = xasprintf("/proc/self/fd/%d", files->v[i].fd);

        images_attached(a, files->v[i].name, path, files->v[i].fd, 0);
    }
    if (files->all > files->n && llm_sees(a->llm))
        agent_notice(a, NOTICE_INFO, "%s: %s sees the first %zu of %zu images", folder, llm_model(a->llm),
                     files->n, files->all);
}

void images_of_cell(const struct cell_result *r, struct image_list *out)
{
    for (size_t i = 0; i < r->n_files && out->n < IMAGES_AT_ONCE; i++) {
        const struct cell_file *f = &r->files[i];

        if (names_image(f->name))
            push(out, (struct turn_image){.name = xstrdup(f->name),
                                          .path = xstrdup(f->path),
                                          .size = (int64_t)f->size,
                                          .modified = f->path ? noted_time_of(f->path) : 0});
    }
}

/* From a file that may be another by now: it was the code's, or a session that is continued refers to it. */
static void make_again(struct agent *a, struct turn_image *image)
{
    const struct noted_file noted = {image->path, image->size, image->modified};
    struct error err = {0};
    autoclose int fd = noted_open(NULL, &noted, &err);

    if (fd >= 0) {
        make(a, image, fd);
        return;
    }
    image->spoilt = true;
    if (err.code == ESTALE)
        agent_notice(a, NOTICE_INFO, "%s does not see %s, which has changed since", llm_model(a->llm),
                     image->name);
}

void images_prepare(struct agent *a)
{
    size_t first = llm_first_image(a->llm, a->c), number = 0;

    for (size_t i = 0; i < a->c->n; i++)
        for (size_t k = 0; k < a->c->v[i].n_images; k++, number++) {
            struct turn_image *image = &a->c->v[i].images[k];

            if (!llm_sees(a->llm) || number < first)
                free(steal(&image->png));
            else if (!image->png && !image->spoilt)
                make_again(a, image);
        }
}
