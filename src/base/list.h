/* Intrusive doubly linked list. The links live in the element, so adding never fails.
 *
 *     head <-> a <-> b <-> head
 *
 * An element is in at most one list per link; list_remove() of an element that is in none is
 * allowed once the link was initialised. */

#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next;
    struct list *prev;
};

/* The element that holds @link as its member @field. */
#define LIST_ENTRY(link, type, field) ((type *)(void *)((char *)(link)-offsetof(type, field)))

static inline void list_init(struct list *l)
{
    l->next = l;
    l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
    return l->next == l;
}

static inline void list_push_back(struct list *head, struct list *l)
{
    l->prev = head->prev;
    l->next = head;
    head->prev->next = l;
    head->prev = l;
}

static inline void list_remove(struct list *l)
{
    l->prev->next = l->next;
    l->next->prev = l->prev;
    list_init(l);
}

/* Return the first link, or NULL. */
static inline struct list *list_first(const struct list *head)
{
    return list_empty(head) ? NULL : head->next;
}

/* Move all of @from to the empty @to. */
static inline void list_take(struct list *to, struct list *from)
{
    list_init(to);
    if (!list_empty(from)) {
        *to = *from;
        to->next->prev = to;
        to->prev->next = to;
        list_init(from);
    }
}

#define LIST_FOREACH(link, head)                                                                   \
    for (struct list *link = (head)->next; link != (head); link = link->next)

#endif
