// @ts-check
/** Adjusts typedoc's model before the pages are written. */

import {
  Comment,
  Converter,
  DeclarationReflection,
  makeRecursiveVisitor,
  ParameterReflection,
  ReferenceType,
  ReflectionKind,
  ReflectionType,
  SignatureReflection,
} from 'typedoc';
import ts from 'typescript';

/** @typedef {import('typedoc').ProjectReflection} Project */
/** @typedef {import('typedoc').Reflection} Reflection */

/**
 * Shows types as they are written. typedoc uses the type checker, which replaces aliases; for example, `Millis` would become
 * number.
 * @param {import('typedoc').Converter} converter
 */
export function keepNames(converter) {
  const convertType = converter.convertType.bind(converter);
  /** @param {import('typedoc').Context} context @param {ts.Type} type @param {ts.TypeNode} [node] */
  const converted = (context, type, node) =>
    node !== undefined && isWhole(context.checker, node, type)
      ? convertType(context, node)
      : convertType(context, type, node);
  converter.convertType = /** @type {typeof convertType} */ (converted);
}

/**
 * The source text of type aliases, by module and name. The map is filled during the conversion.
 * @param {import('typedoc').Converter} converter
 */
export function aliasTexts(converter) {
  /** @type {Map<string, Map<string, string>>} */
  const texts = new Map();
  converter.on(Converter.EVENT_CREATE_DECLARATION, (context, one) => {
    const node = context.getSymbolFromReflection(one)?.declarations?.find(ts.isTypeAliasDeclaration);
    if (node === undefined || !one.kindOf(ReflectionKind.TypeAlias)) return;
    const module = one.parent?.name ?? '';
    const text = node.getText().replace(/^export /, '');
    texts.set(module, (texts.get(module) ?? new Map()).set(one.name, text));
  });
  return texts;
}

/**
 * Whether the node describes the type completely, which is the case if the node does not depend on a type parameter and inference
 * has not changed the type.
 * @param {ts.TypeChecker} checker @param {ts.TypeNode} node @param {ts.Type} type
 */
function isWhole(checker, node, type) {
  const isOpen = contains(
    node,
    (part) =>
      ts.isThisTypeNode(part) ||
      ts.isTypePredicateNode(part) ||
      // `keyof typeof TABLE` is meaningless without the table.
      ts.isTypeQueryNode(part) ||
      (ts.isTypeReferenceNode(part) &&
        ((checker.getSymbolAtLocation(part.typeName)?.flags ?? 0) & ts.SymbolFlags.TypeParameter) !== 0),
  );
  return !isOpen && checker.isTypeAssignableTo(checker.getTypeFromTypeNode(node), type);
}

/** @param {ts.Node} node @param {(part: ts.Node) => boolean} is @returns {boolean} */
const contains = (node, is) => is(node) || ts.forEachChild(node, (part) => contains(part, is)) === true;

/**
 * Fixes comments. The comment at the top of a file must appear only on its page, and undocumented options must link to their
 * functions.
 * @param {Project} project @param {ReadonlyMap<string, string>} heads of entries
 */
export function describe(project, heads) {
  const texts = new Set(heads.values());
  for (const one of Object.values(project.reflections))
    if (one.comment !== undefined && texts.has(Comment.combineDisplayParts(one.comment.summary)))
      delete one.comment;
  for (const module of project.children ?? [])
    module.comment = new Comment([{ kind: 'text', text: heads.get(module.name) ?? '' }]);

  const takers = takersOf(project);
  for (const one of project.getReflectionsByKind(ReflectionKind.Interface)) {
    const functions = takers.get(one);
    if (one.comment !== undefined || !(one instanceof DeclarationReflection)) continue;
    const [base] = one.extendedTypes ?? [];
    if (base instanceof ReferenceType && base.reflection?.comment) one.comment = base.reflection.comment;
    if (functions === undefined) continue;
    /** @type {import('typedoc').CommentDisplayPart[]} */
    const links = [...functions].flatMap((target, i) => [
      { kind: 'text', text: i === 0 ? 'Options of ' : ', ' },
      { kind: 'inline-tag', tag: '@linkcode', text: target.name, target },
    ]);
    one.comment = new Comment([...links, { kind: 'text', text: '.' }]);
  }
}

const TOLD =
  ReflectionKind.Function |
  ReflectionKind.Class |
  ReflectionKind.Interface |
  ReflectionKind.TypeAlias |
  ReflectionKind.Variable |
  ReflectionKind.Property |
  ReflectionKind.Method |
  ReflectionKind.Accessor;

/**
 * Names without a comment. Members of an inline type are covered by the comment of the name that has this type. @param {Project}
 * project
 */
export function silent(project) {
  return project
    .getReflectionsByKind(TOLD)
    .filter((one) => !isWrittenOut(one) && !isTold(one))
    .map((one) => one.getFriendlyFullName());
}

/** @param {Reflection} one @returns {boolean} */
const isWrittenOut = ({ parent }) =>
  parent !== undefined &&
  (parent.kindOf(ReflectionKind.TypeLiteral | ReflectionKind.Parameter) || isWrittenOut(parent));

/** @param {Reflection} one */
function isTold(one) {
  if (one.hasComment() || !(one instanceof DeclarationReflection)) return one.hasComment();
  const { signatures = [], getSignature, type } = one;
  const inType = type instanceof ReflectionType ? (type.declaration.signatures ?? []) : [];
  return [...signatures, ...inType, ...(getSignature ? [getSignature] : [])].some((two) => two.hasComment());
}

/** The functions and classes that take an options type, by that type. @param {Project} project */
function takersOf(project) {
  /** @type {Map<Reflection, Set<Reflection>>} */
  const takers = new Map();
  for (const one of Object.values(project.reflections)) {
    const owner = one.parent?.parent;
    if (!(one instanceof ParameterReflection) || owner === undefined) continue;
    const taker = owner.kindOf(ReflectionKind.Constructor) ? owner.parent : owner;
    if (!taker?.kindOf(ReflectionKind.Function | ReflectionKind.Method | ReflectionKind.Class)) continue;
    one.type?.visit(
      makeRecursiveVisitor({
        reference({ reflection }) {
          if (!reflection?.name.endsWith('Options')) return;
          takers.set(reflection, (takers.get(reflection) ?? new Set()).add(taker));
        },
      }),
    );
  }
  return takers;
}

/**
 * Removes details that do not help readers: the origin of inherited members, base types without an entry, and long lists of type
 * arguments of other packages' types.
 * @param {Project} project
 */
export function plain(project) {
  const visitor = makeRecursiveVisitor({
    reference(type) {
      if (type.reflection === undefined && (type.typeArguments?.length ?? 0) > 4) delete type.typeArguments;
    },
  });
  for (const one of Object.values(project.reflections)) {
    if (one instanceof ParameterReflection) one.type?.visit(visitor);
    if (!(one instanceof DeclarationReflection || one instanceof SignatureReflection)) continue;
    one.type?.visit(visitor);
    delete one.inheritedFrom;
    delete one.overwrites;
    delete one.implementationOf;
    if (one instanceof SignatureReflection || one.typeHierarchy === undefined) continue;
    const { types, next, isTarget } = one.typeHierarchy;
    const bases = isTarget ? [] : types.filter((base) => hasEntry(base) || isForeign(base));
    if (bases.length === 0) delete one.typeHierarchy;
    else one.typeHierarchy = { types: bases, next: { types: next?.types ?? [], isTarget: true } };
  }
}

/** @param {import('typedoc').SomeType} type */
const hasEntry = (type) => !(type instanceof ReferenceType) || type.reflection !== undefined;

/** Whether a type belongs to another package or to the language. @param {import('typedoc').SomeType} type */
const isForeign = (type) => type instanceof ReferenceType && !/^sluice(-\w+)?$/.test(type.package ?? '');

/** Sorts names alphabetically. Their members keep the order of the source. @param {Project} project */
export function order(project) {
  for (const module of project.children ?? [])
    for (const group of module.groups ?? [])
      group.children.sort((a, b) => a.name.localeCompare(b.name, 'en'));
}
