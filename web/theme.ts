/**
 * Runs before anything is painted: puts the chosen theme onto the document. Without a choice the system's
 * holds, which the style sheet asks for by itself.
 */
const chosen = localStorage.getItem('gangway.theme');
if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset['theme'] = chosen;

export {};
