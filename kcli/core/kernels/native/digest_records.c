/* The digest of the records of a batch or a run, in chunks of a fixed number of records. */
#include "module.h"

#include <stdlib.h>

#include "digest.h"
#include "parts.h"

/* Some records of one chunk, and the digest after them. */
struct piece {
    struct digest digest;
    int64_t count;
    int64_t first;
    int64_t last;
};

struct digesting {
    Py_buffer view;
    struct part part;
    bool timestamps;
    int64_t room; /* records that the chunk still takes */
    int64_t chunk;
    struct digest digest;
    struct piece *pieces;
    Py_ssize_t count;
    Py_ssize_t allocated;
    struct corruption fault;
};

/* The digest before the first record of a chunk. */
static const struct digest START = {0, 1};

static bool
add_piece(struct digesting *digesting, int64_t offset)
{
    if (digesting->count == digesting->allocated) {
        const Py_ssize_t room = 2 * digesting->allocated + 4;
        struct piece *grown = realloc(digesting->pieces, (size_t)room * sizeof *grown);
        if (grown == NULL)
            return false;
        digesting->pieces = grown;
        digesting->allocated = room;
    }
    digesting->pieces[digesting->count++] = (struct piece){.digest = digesting->digest, .first = offset};
    digesting->digest = START;
    return true;
}

/* The piece that the record at an offset belongs to. NULL: no memory. */
static inline struct piece *
piece_for(struct digesting *digesting, int64_t offset)
{
    if (!digesting->room)
        digesting->room = digesting->chunk;
    else if (digesting->count)
        return &digesting->pieces[digesting->count - 1];
    return add_piece(digesting, offset) ? &digesting->pieces[digesting->count - 1] : NULL;
}

static enum verdict
digest_batch(struct digesting *digesting, const struct part *part)
{
    struct scan scan;
    struct record record;
    const enum verdict verdict = begin_scan(&scan, part);
    if (verdict == BAD_PART)
        return verdict;
    while (verdict == GOOD && next_wanted(&scan, &record)) {
        const int64_t offset = part->base_offset + record.offset_delta;
        const int64_t timestamp = digesting->timestamps ? timestamp_of(part, &record) : 0;
        struct piece *piece = piece_for(digesting, offset);
        if (piece == NULL || !add_to_digest(&piece->digest, timestamp, part->data, &record))
            return NO_MEMORY;
        piece->count += 1;
        piece->last = offset;
        digesting->room -= 1;
    }
    if (verdict == GOOD && end_scan(&scan))
        return GOOD;
    digesting->fault = scan.reader.fault;
    return CORRUPT;
}

static enum verdict
digest_part(struct digesting *digesting)
{
    enum verdict verdict = GOOD;
    struct part batch;
    if (digesting->part.count != FRAMED)
        return digest_batch(digesting, &digesting->part);
    for (int64_t at = 0; verdict == GOOD && next_batch(&digesting->part, &at, &batch, &verdict);)
        verdict = digest_batch(digesting, &batch);
    return verdict;
}

static enum verdict
digest_releasing(struct digesting *digesting)
{
    if (digesting->part.size < WORTH_RELEASING)
        return digest_part(digesting);
    enum verdict verdict;
    Py_BEGIN_ALLOW_THREADS
    verdict = digest_part(digesting);
    Py_END_ALLOW_THREADS
    return verdict;
}

/* --- Arguments and result ---------------------------------------------------------------------------- */

static bool
take_records(PyObject *number, int64_t *value)
{
    if (!take_int64(number, value))
        return false;
    if (*value > 0)
        return true;
    PyErr_Format(PyExc_ValueError, "a chunk of %lld records", (long long)*value);
    return false;
}

static bool
take_digest(PyObject *object, struct digest *digest)
{
    struct span bytes;
    PyObject *owner = keep_some_bytes(Py_NewRef(object), &bytes);
    if (owner == NULL)
        return false;
    const bool whole = bytes.size == BLOCK;
    if (whole)
        *digest = load_digest(bytes.data);
    else
        PyErr_Format(PyExc_ValueError, "a digest of %zd bytes", (Py_ssize_t)bytes.size);
    Py_DECREF(owner);
    return whole;
}

static PyObject *
piece_object(const struct piece *piece)
{
    uint8_t bytes[BLOCK];
    store_digest(&piece->digest, bytes);
    return Py_BuildValue("(NLLL)", PyBytes_FromStringAndSize((const char *)bytes, BLOCK),
                         (long long)piece->count, (long long)piece->first, (long long)piece->last);
}

static PyObject *
pieces_object(const struct digesting *digesting)
{
    PyObject *pieces = PyList_New(digesting->count);
    for (Py_ssize_t index = 0; pieces != NULL && index < digesting->count; index++) {
        PyObject *piece = piece_object(&digesting->pieces[index]);
        if (piece == NULL || PyList_SetItem(pieces, index, piece) < 0)
            Py_CLEAR(pieces);
    }
    return pieces;
}

static PyObject *
result_of(const struct digesting *digesting, enum verdict verdict)
{
    return verdict == GOOD ? pieces_object(digesting) : refuse_part(verdict, &digesting->fault);
}

/* digest_records(part, timestamps, digest, room, chunk) */
PyObject *
digest_records(PyObject *const *args, Py_ssize_t Py_UNUSED(count))
{
    struct digesting digesting = {0};
    PyObject *result = NULL;
    const int timestamps = PyObject_IsTrue(args[1]);
    digesting.timestamps = timestamps > 0;
    if (timestamps >= 0 && take_digest(args[2], &digesting.digest) && take_records(args[3], &digesting.room)
        && take_records(args[4], &digesting.chunk)
        && take_part(args[0], &digesting.view, &digesting.part))
        result = result_of(&digesting, digest_releasing(&digesting));
    if (digesting.view.obj != NULL)
        PyBuffer_Release(&digesting.view);
    free(digesting.pieces);
    return result;
}
