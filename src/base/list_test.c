/* Intrusive list. */

#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct element {
    int number;
    struct list link;
};

static void fill(struct list *head, struct element *elements, int count)
{
    list_init(head);
    for (int i = 0; i < count; i++) {
        elements[i].number = i;
        list_push_back(head, &elements[i].link);
    }
}

/* The numbers in the list as decimal digits. */
static int digits(const struct list *head)
{
    int value = 0;

    LIST_FOREACH (link, head) {
        value = value * 10 + LIST_ENTRY(link, struct element, link)->number;
    }
    return value;
}

static void test_elements_leave_in_the_order_they_came(void **state)
{
    struct element elements[4];
    struct list head;

    (void)state;
    fill(&head, elements, 4);
    assert_int_equal(digits(&head), 123);
    for (int i = 0; i < 4; i++) {
        struct list *first = list_first(&head);

        assert_int_equal(LIST_ENTRY(first, struct element, link)->number, i);
        list_remove(first);
    }
    assert_true(list_empty(&head));
    assert_null(list_first(&head));
}

static void test_any_element_can_be_removed_and_twice(void **state)
{
    struct element elements[5];
    struct list head;

    (void)state;
    fill(&head, elements, 5);
    list_remove(&elements[2].link);
    list_remove(&elements[2].link);
    assert_int_equal(digits(&head), 134);
    list_remove(&elements[4].link);
    list_remove(&elements[0].link);
    assert_int_equal(digits(&head), 13);
    list_push_back(&head, &elements[2].link);
    assert_int_equal(digits(&head), 132);
}

static void test_taking_moves_everything(void **state)
{
    struct element elements[3];
    struct list from, to;

    (void)state;
    fill(&from, elements, 3);
    list_take(&to, &from);
    assert_true(list_empty(&from));
    assert_int_equal(digits(&to), 12);
    list_remove(&elements[0].link);
    list_remove(&elements[2].link);
    assert_int_equal(digits(&to), 1);
}

static void test_taking_from_an_empty_list_gives_an_empty_list(void **state)
{
    struct list from, to;

    (void)state;
    list_init(&from);
    list_take(&to, &from);
    assert_true(list_empty(&to));
    assert_true(list_empty(&from));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_leave_in_the_order_they_came),
        cmocka_unit_test(test_any_element_can_be_removed_and_twice),
        cmocka_unit_test(test_taking_moves_everything),
        cmocka_unit_test(test_taking_from_an_empty_list_gives_an_empty_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
