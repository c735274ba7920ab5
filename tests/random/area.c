/* Buffers: everything that no message may touch holds a pattern, before, behind and between the pieces. */
#include "random.h"

enum { GUARD = 64 };

void bytes_of(const void *context, uint64_t id, unsigned char *out, size_t bytes)
{
    size_t i;
    (void)context;
    for (i = 0; i + 8 <= bytes; i += 8) {
        uint64_t word = mix(id + i);
        memcpy(out + i, &word, 8);
    }
    for (; i < bytes; i++)
        out[i] = (unsigned char)(mix(id + (i & ~(size_t)7)) >> (i % 8 * 8));
}

struct layout *own_layout(struct area *area, struct layout *layout)
{
    area->layout = realloc(area->layout, sizeof *area->layout * (area->layouts + 1));
    area->layout[area->layouts++] = layout;
    return layout;
}

struct block *add_block(struct area *area, struct layout *layout, ptrdiff_t at, long count, size_t bytes)
{
    struct block *block;
    area->block = realloc(area->block, sizeof *area->block * (area->n + 1));
    block = &area->block[area->n++];
    *block = (struct block){.layout = layout, .at = at, .count = count, .bytes = bytes};
    return block;
}

void place_area(struct area *area, struct stream *s)
{
    ptrdiff_t low = 0, high = 0;
    size_t before;
    int i;
    for (i = 0; i < area->n; i++) {
        const struct block *b = &area->block[i];
        ptrdiff_t end;
        if (b->bytes == 0)
            continue;
        end = b->at + (b->count - 1) * b->layout->extent + b->layout->high;
        low = b->at + b->layout->low < low ? b->at + b->layout->low : low;
        high = end > high ? end : high;
    }
    before = ((size_t)(GUARD - low) + 15) / 16 * 16 + 8 * (size_t)below(s, 9);
    area->length = before + (size_t)high + GUARD;
    area->mem = get(area->length);
    area->base = area->mem + before;
}

static void pattern(unsigned char *mem, size_t length)
{
    size_t i;
    for (i = 0; i < length; i++)
        mem[i] = (unsigned char)(0xa5 ^ i * 29);
}

/* Puts payload into the pieces of a block, or back to what `from` has there. */
static void scatter(const struct block *block, unsigned char *base, const unsigned char *data)
{
    const struct layout *l = block->layout;
    size_t done = 0;
    long i;
    int k;
    base += block->at;
    if (l->pieces == 1 && l->extent == l->piece[0].bytes && block->bytes) {
        memcpy(base + l->piece[0].at, data, block->bytes);
        return;
    }
    for (i = 0; done < block->bytes; i++)
        for (k = 0; k < l->pieces && done < block->bytes; k++) {
            memcpy(base + i * l->extent + l->piece[k].at, data + done, l->piece[k].bytes);
            done += l->piece[k].bytes;
        }
}

static void copy_pieces(const struct block *block, unsigned char *base, const unsigned char *from)
{
    long i;
    int k;
    for (i = 0; i < block->count; i++)
        for (k = 0; k < block->layout->pieces; k++) {
            ptrdiff_t at = block->at + i * block->layout->extent + block->layout->piece[k].at;
            memcpy(base + at, from + at, block->layout->piece[k].bytes);
        }
}

static void put(const struct block *block, unsigned char *base, payload *payload, const void *context, uint64_t id)
{
    unsigned char *data = get(block->bytes + 8);
    payload(context, id, data, block->bytes);
    scatter(block, base, data);
    free(data);
}

void fill_area(struct area *area, payload *payload, const void *context)
{
    int i;
    if (area->mem == NULL)
        return;
    pattern(area->mem, area->length);
    for (i = 0; i < area->n; i++)
        if (area->block[i].has_before)
            put(&area->block[i], area->base, payload, context, area->block[i].before);
}

void check_area(struct area *area, payload *payload, const void *context, int step, const char *what)
{
    unsigned char *image, *base;
    size_t i, bad = 0, first = 0;
    int k;
    if (area->mem == NULL)
        return;
    image = get(area->length);
    base = image + (area->base - area->mem);
    pattern(image, area->length);
    for (k = 0; k < area->n; k++) {
        const struct block *b = &area->block[k];
        if (b->has_after)
            put(b, base, payload, context, b->after);
        else if (b->any)
            copy_pieces(b, base, area->base);
        else if (b->has_before)
            put(b, base, payload, context, b->before);
    }
    if (memcmp(image, area->mem, area->length)) {
        for (i = 0; i < area->length; i++)
            if (image[i] != area->mem[i] && bad++ == 0)
                first = i;
        for (k = 0; k < area->n; k++)
            fprintf(stderr, "rank %d: block %d: at %td, %ld of extent %td, lb %td, true %td to %td, %d pieces; %zu bytes\n",
                    world_rank, k, area->block[k].at, area->block[k].count, area->block[k].layout->extent,
                    area->block[k].layout->lb, area->block[k].layout->low, area->block[k].layout->high,
                    area->block[k].layout->pieces, area->block[k].bytes);
        wrong(step, "%s: %zu bytes of %zu wrong, the first at %td: %02x for %02x", what, bad, area->length,
              area->mem + first - area->base, area->mem[first], image[first]);
    }
    free(image);
}

void forget_types(struct area *area)
{
    int i;
    for (i = 0; i < area->layouts; i++)
        forget_type(area->layout[i]);
}

void free_area(struct area *area)
{
    int i;
    for (i = 0; i < area->layouts; i++)
        free_layout(area->layout[i]);
    free(area->layout);
    free(area->block);
    free(area->mem);
    memset(area, 0, sizeof *area);
}
