/* chafa_load.h - loads libchafa when the first figure is shown, so that a start does not pay for it and a
 * machine without it lacks nothing but the figures. Call functions as chafa->canvas_new().
 */
#ifndef SHOW_CHAFA_LOAD_H
#define SHOW_CHAFA_LOAD_H

#include <chafa.h>
/* glib.h turns the name into a macro, but the table needs the plain function. */
#undef g_string_free

struct error;

/* clang-format off */
#define CHAFA_FUNCTIONS(X) \
    X(set_n_threads) X(term_db_get_default) X(term_db_get_fallback_info) X(term_info_unref) \
    X(symbol_map_new) X(symbol_map_add_by_tags) X(symbol_map_unref) \
    X(canvas_config_new) X(canvas_config_unref) X(canvas_config_set_geometry) \
    X(canvas_config_set_cell_geometry) X(canvas_config_set_canvas_mode) X(canvas_config_set_pixel_mode) \
    X(canvas_config_set_symbol_map) X(canvas_config_set_color_extractor) \
    X(canvas_config_set_fg_color) X(canvas_config_set_bg_color) \
    X(canvas_new) X(canvas_draw_all_pixels) X(canvas_print) X(canvas_unref) \
    X(canvas_get_char_at) X(canvas_set_char_at) X(canvas_get_colors_at) X(canvas_set_colors_at)
/* clang-format on */

struct chafa_api {
#define X(name) __typeof__(&chafa_##name) name;
    CHAFA_FUNCTIONS(X)
#undef X
    gchar *(*string_free)(GString *string, gboolean free_segment);
};

/* Returns the table, which is the same each time. NULL with ERROR_SYSTEM when libchafa is missing. */
const struct chafa_api *chafa_load(struct error *err);

#endif
