/* file_type.h - the media type of a file by the end of its name; the bytes are not looked at. What a browser
 * may be told of it is another matter (server/media.h). */
#ifndef BASE_FILE_TYPE_H
#define BASE_FILE_TYPE_H

const char *file_type(const char *name); /* "application/octet-stream" where nothing is known */

#endif
